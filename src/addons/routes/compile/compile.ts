import { type Attachment, attach, locate } from './attach.ts';
import { conflictsOf, draftKey, portsOf, withoutConflicts, withoutLosses } from './conflicts.ts';
import type { RouteFault } from './findings.ts';
import { grantsOf, type ReferenceGrant } from './grants.ts';
import type { Target } from './model.ts';
import type { ObjectKey, Services } from './objects.ts';
import type { ParsedRoute } from './parse.ts';
import { type Draft, hostBytes, type PlacedRoute, PortTable, ROOM, type RoutedPort } from './port-table.ts';
import { permitted, type Reading, read } from './reading.ts';
import { isGrpcRoute, type Route, routeKey } from './route.ts';
import type { RouteFile } from './route-configuration.ts';
import { unread, withhold } from './shares.ts';

/** All that routing depends on. The objects must not change: what is read from one is remembered. */
export interface RoutingInput {
  readonly routes: readonly Route[];
  readonly services: Services;
  /** Those of all namespaces; none if they are left out. */
  readonly grants?: readonly ReferenceGrant[];
}

/** A route with all that is known about it. */
export interface CompiledRoute {
  readonly object: Route;
  readonly attachments: readonly Attachment[];
  readonly faults: readonly RouteFault[];
  /** The indices of the rules that answer 500 to all requests. */
  readonly refused: readonly number[];
  /** The indices of the rules that answer 500 because no backend has a weight above 0. */
  readonly unserved: readonly number[];
}

export interface Compilation {
  readonly routes: ReadonlyMap<ObjectKey, CompiledRoute>;
  /** The file for the sidecars of a namespace. */
  file(clientNamespace: string): RouteFile;
  /** Writes the files for namespaces, in steps. Else they are written when they are asked for. */
  prepare(clientNamespaces: Iterable<string>): Generator<void, void>;
  /** The ports with routes for clients in a namespace, in a fixed order. */
  ports(clientNamespace: string): readonly RoutedPort[];
  /** Whether a route holds for clients in a namespace. */
  holds(route: ObjectKey, clientNamespace: string): boolean;
}

/**
 * Compiles all routes at once. A route in the namespace of its Service holds for clients everywhere (a producer route);
 * one in another namespace holds for the clients there, in place of all producer routes of that port.
 */
export function compileRoutes(input: RoutingInput): Compilation {
  const steps = compileSteps(input);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** The same in steps of some milliseconds at most. */
export function* compileSteps({ routes, services, grants = [] }: RoutingInput): Generator<void, Compilation> {
  const isGranted = grantsOf(grants);
  const places = new Map<string, ReturnType<typeof locate>>();
  const place = (target: Target) => {
    const key = `${target.service}:${target.port}`;
    const found = places.get(key) ?? locate(target, services);
    places.set(key, found);
    return found;
  };
  const attached = new Map<Route, readonly Attachment[]>();
  for (const object of routes) {
    attached.set(object, attach(object, services));
    yield;
  }
  const skipped = yield* unread(attachedPorts(attached));
  const found = new Map<Route, Reading>();
  const drafts = new Map<string, Draft>();
  for (const [object, attachments] of attached) {
    // Routes of Gateways alone are not read.
    if (attachments.length > 0 && !skipped.has(object)) {
      const reading = yield* read(object);
      found.set(object, isProducer(object, attachments) ? permitted(reading, isGranted) : reading);
    }
    addRoute(drafts, object, found.get(object), skipped.get(object), attachments);
    yield;
  }
  const conflicts = withoutConflicts(drafts);
  const losses = { skipped, conflicts, withheld: withhold(drafts, ROOM, hostBytes) };
  const compiled = new Map<ObjectKey, CompiledRoute>();
  for (const [object, attachments] of attached) {
    const reading = found.get(object);
    compiled.set(routeKey(object), {
      object,
      attachments: attachments.map((each) => withoutLosses(each, object, losses)),
      faults: [
        ...(reading ? [...reading.route.faults, ...backendFaults(reading.route, place)] : []),
        ...conflictsOf(object, attachments, conflicts),
      ],
      refused: reading?.refused ?? [],
      unserved: reading?.unserved ?? [],
    });
    yield;
  }
  const ports = new PortTable(drafts, (target) => {
    const found = place(target);
    return typeof found === 'string' ? found : undefined;
  });
  return {
    routes: compiled,
    file: (clientNamespace) => ports.file(clientNamespace),
    prepare: (clientNamespaces) => ports.prepare(clientNamespaces),
    ports: (clientNamespace) => ports.of(clientNamespace),
    holds: (route, clientNamespace) => ports.holds(route, clientNamespace),
  };
}

/** Whether a route holds for clients of other namespaces. */
function isProducer({ metadata }: Route, attachments: readonly Attachment[]): boolean {
  return portsOf(attachments).some(({ namespace }) => namespace === metadata.namespace);
}

/** The routes with a reference to a Service. */
function* attachedPorts(attached: ReadonlyMap<Route, readonly Attachment[]>) {
  for (const [object, list] of attached) if (list.length > 0) yield [object, portsOf(list)] as const;
}

function addRoute(
  drafts: Map<string, Draft>,
  object: Route,
  reading: Reading | undefined,
  unread: string | undefined,
  attachments: readonly Attachment[],
): void {
  const namespace = object.metadata.namespace ?? '';
  const placed: PlacedRoute = {
    key: routeKey(object),
    isGrpc: isGrpcRoute(object),
    entries: reading?.entries ?? [],
    bytes: reading?.bytes ?? 0,
    ...(unread !== undefined && { unread }),
  };
  if (placed.entries.length === 0 && unread === undefined) return;
  // Several references may name one port.
  const seen = new Set<string>();
  for (const port of portsOf(attachments)) {
    const key = draftKey(port);
    if (seen.has(key)) continue;
    seen.add(key);
    const draft: Draft = drafts.get(key) ?? { port, producers: [], consumers: new Map() };
    drafts.set(key, draft);
    if (namespace === port.namespace) draft.producers.push(placed);
    else {
      const own = draft.consumers.get(namespace) ?? [];
      draft.consumers.set(namespace, own);
      own.push(placed);
    }
  }
}

/** What keeps backends and mirrors from being reached. */
function backendFaults(
  { rules }: ParsedRoute,
  place: (target: Target) => ReturnType<typeof locate>,
): readonly RouteFault[] {
  const faults: RouteFault[] = [];
  const check = (target: Target, path: string) => {
    const found = place(target);
    if (typeof found === 'object') faults.push({ ...found, path });
  };
  for (const [rule, { action }] of rules.entries()) {
    if (action.kind !== 'forward') continue;
    for (const [index, backend] of action.backends.entries()) {
      if (!('broken' in backend)) check(backend, `rules[${rule}].backendRefs[${index}]`);
    }
    for (const mirror of action.mirrors) check(mirror, `rules[${rule}].filters`);
  }
  return faults;
}
