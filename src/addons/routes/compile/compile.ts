import type { ObjectKey } from '../../../kube/api/object.ts';
import { formatDiagnostic } from '../../../util/diagnostic.ts';
import { type AttachedPort, type Attachment, attach, locate, portsOf, portText } from './attach.ts';
import type { RouteFault } from './findings.ts';
import { grantsOf, type ReferenceGrant } from './grants.ts';
import type { Target } from './model.ts';
import { type ParsedRoute, targetsIn } from './parse.ts';
import { type Draft, hostBytes, type PlacedRoute, PortTable, ROOM } from './port-table.ts';
import { permitted, type Reading, read } from './reading.ts';
import { isGrpcRoute, type Route, routeKey, type Services } from './route.ts';
import { heldKey, unread, withhold } from './shares.ts';

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

/** The routes, and the ports that have them. */
export type Compilation = PortTable & { readonly routes: ReadonlyMap<ObjectKey, CompiledRoute> };

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
      // One in the namespace of its Service holds for clients of other namespaces.
      const isProducer = portsOf(attachments).some(
        ({ namespace }) => namespace === object.metadata.namespace,
      );
      found.set(object, isProducer ? permitted(reading, isGranted) : reading);
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
  return Object.assign(ports, { routes: compiled });
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
  for (const [key, port] of new Map(portsOf(attachments).map((each) => [draftKey(each), each]))) {
    const draft: Draft = drafts.get(key) ?? { port, routes: new Map() };
    drafts.set(key, draft);
    const own = draft.routes.get(namespace) ?? [];
    draft.routes.set(namespace, own);
    own.push(placed);
  }
}

/** What keeps backends and mirrors from being reached. */
function backendFaults(
  route: ParsedRoute,
  place: (target: Target) => ReturnType<typeof locate>,
): readonly RouteFault[] {
  return targetsIn(route).flatMap(({ target, path }) => {
    const found = place(target);
    return typeof found === 'object' ? { ...found, path } : [];
  });
}

const draftKey = ({ service, port }: AttachedPort) => `${service}:${port}`;

/** What a route has lost, by {@link heldKey}: ports whose routes are left out, and HTTPRoutes the ports of GRPCRoutes. */
interface Losses {
  readonly skipped: ReadonlyMap<Route, string>;
  readonly withheld: ReadonlyMap<string, string>;
  readonly conflicts: ReadonlyMap<string, string>;
}

/** An attachment to a port whose routes are left out is none, and neither is one without a port. */
function withoutLosses(
  attachment: Attachment,
  object: Route,
  { skipped, withheld, conflicts }: Losses,
): Attachment {
  // Mostly there are none.
  if ('missing' in attachment || skipped.size + withheld.size + conflicts.size === 0) return attachment;
  const { reference, ports } = attachment;
  const held = ports.map((port) => withheld.get(portOfRoute(port, object)));
  const missing = skipped.get(object) ?? held.find((text) => text !== undefined);
  if (missing !== undefined) return { reference, missing, reason: 'RoutesTooLarge' };
  const lost = conflictsOf(object, [attachment], conflicts);
  if (lost.length === 0) return attachment;
  const left = ports.filter((port) => !conflicts.has(portOfRoute(port, object)));
  if (left.length > 0) return { reference, ports: left };
  return { reference, missing: lost.map(formatDiagnostic).join('; '), reason: 'Conflicted' };
}

/** The ports that GRPCRoutes have in place of an HTTPRoute. */
function conflictsOf(
  object: Route,
  attachments: readonly Attachment[],
  conflicts: Losses['conflicts'],
): readonly RouteFault[] {
  const keys =
    isGrpcRoute(object) || conflicts.size === 0
      ? []
      : portsOf(attachments).map((port) => portOfRoute(port, object));
  const messages = keys.flatMap((key) => conflicts.get(key) ?? []);
  return messages.map((message) => ({ reason: 'Conflicted', path: 'parentRefs', message }));
}

function portOfRoute(port: AttachedPort, { metadata: { namespace = '' } }: Route): string {
  return heldKey(draftKey(port), namespace);
}

/**
 * Takes HTTPRoutes from the ports that have GRPCRoutes for the same clients: of one port, one kind of routes applies
 * (GEP-1294). Says which one has it, by {@link heldKey}.
 */
function withoutConflicts(drafts: ReadonlyMap<string, Draft>): ReadonlyMap<string, string> {
  const conflicts = new Map<string, string>();
  for (const [key, draft] of drafts) {
    for (const [namespace, routes] of draft.routes) {
      const calls = routes.filter(({ isGrpc }) => isGrpc);
      const [first] = calls;
      if (first === undefined || calls.length === routes.length) continue;
      const text = `${first.key} applies to ${portText(draft.port)}, and overrides HTTPRoutes`;
      conflicts.set(heldKey(key, namespace), text);
      draft.routes.set(namespace, calls);
    }
  }
  return conflicts;
}
