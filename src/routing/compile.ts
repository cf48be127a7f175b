import { type Attachment, attach, locate } from './attach.ts';
import type { RouteFault } from './findings.ts';
import { grantsOf, type ReferenceGrant, withoutUngranted } from './grants.ts';
import type { HTTPRoute } from './http-route.ts';
import type { Entry, Match, Target } from './model.ts';
import type { ObjectKey, Services } from './objects.ts';
import { type ParsedRoute, parseRoute } from './parse.ts';
import { type Draft, PortTable, type Reach, type RoutedPort } from './port-table.ts';
import { inOrder } from './precedence.ts';
import type { RouteFile } from './route-configuration.ts';

/** All that routing depends on. The objects must not change: what is read from one is remembered. */
export interface RoutingInput {
  readonly routes: readonly HTTPRoute[];
  readonly services: Services;
  /** Those of all namespaces; none if they are left out. */
  readonly grants?: readonly ReferenceGrant[];
}

/** A route with all that is known about it. */
export interface CompiledRoute {
  readonly object: HTTPRoute;
  readonly attachments: readonly Attachment[];
  readonly faults: readonly RouteFault[];
  /** The indices of the rules that answer 500 to all requests. */
  readonly refused: readonly number[];
}

export interface Compilation {
  readonly routes: ReadonlyMap<ObjectKey, CompiledRoute>;
  /** The file for the sidecars of a namespace. */
  file(clientNamespace: string): RouteFile;
  /** The ports with routes for clients in a namespace, in a fixed order. */
  ports(clientNamespace: string): readonly RoutedPort[];
  /** For which clients a route holds. */
  reach(route: ObjectKey): Reach;
}

const parsed = new WeakMap<HTTPRoute, ParsedRoute>();

function parse(object: HTTPRoute): ParsedRoute {
  const route = parsed.get(object) ?? parseRoute(object);
  parsed.set(object, route);
  return route;
}

/**
 * Compiles all routes at once. A route in the namespace of its Service holds for clients everywhere (a producer route);
 * one in another namespace holds for the clients there, in place of all producer routes of that port.
 */
export function compileRoutes({ routes, services, grants = [] }: RoutingInput): Compilation {
  const places = new Map<string, ReturnType<typeof locate>>();
  const place = (target: Target) => {
    const key = `${target.service}:${target.port}`;
    const found = places.get(key) ?? locate(target, services);
    places.set(key, found);
    return found;
  };
  const isGranted = grantsOf(grants);
  const compiled = new Map<ObjectKey, CompiledRoute>();
  const drafts = new Map<string, Draft>();
  for (const object of routes) {
    const attachments = attach(object, services);
    const route = isProducer(object, attachments)
      ? withoutUngranted(parse(object), isGranted)
      : parse(object);
    const entries = entriesOf(route);
    compiled.set(route.key, {
      object,
      attachments,
      faults: [...route.faults, ...backendFaults(route, place)],
      refused: refusedRules(route, entries),
    });
    addEntries(drafts, route, entries, attachments);
  }
  const ports = new PortTable(drafts, (target) => {
    const found = place(target);
    return typeof found === 'string' ? found : undefined;
  });
  return {
    routes: compiled,
    file: (clientNamespace) => ports.file(clientNamespace),
    ports: (clientNamespace) => ports.of(clientNamespace),
    reach: (route) => ports.reach(route),
  };
}

/** Whether a route holds for clients of other namespaces. */
function isProducer({ metadata }: HTTPRoute, attachments: readonly Attachment[]): boolean {
  return attachments.some(
    (each) => 'ports' in each && each.ports.some(({ namespace }) => namespace === metadata.namespace),
  );
}

function addEntries(
  drafts: Map<string, Draft>,
  route: ParsedRoute,
  entries: readonly Entry[],
  attachments: readonly Attachment[],
): void {
  const namespace = route.object.metadata.namespace ?? '';
  // Several references may name one port.
  const seen = new Set<string>();
  for (const port of attachments.flatMap((attachment) => ('ports' in attachment ? attachment.ports : []))) {
    const key = `${port.service}:${port.port}`;
    if (seen.has(key)) continue;
    seen.add(key);
    const draft: Draft = drafts.get(key) ?? { port, producers: [], consumers: new Map() };
    drafts.set(key, draft);
    if (namespace === port.namespace) draft.producers.push(...entries);
    else {
      const own = draft.consumers.get(namespace) ?? [];
      draft.consumers.set(namespace, own);
      own.push(...entries);
    }
  }
}

function refusedRules({ rules }: ParsedRoute, entries: readonly Entry[]): readonly number[] {
  const answered = new Set(entries.flatMap(({ rule, action }) => (action.kind === 'error' ? [] : rule)));
  return rules.flatMap((_, index) => (answered.has(index) ? [] : index));
}

/** An entry in the place that it was meant to have. */
interface Meant extends Entry {
  /** What is left of a match without a meaning. */
  readonly actual?: Match;
}

/**
 * The entries of a route. It is unknown which requests an unreadable match was for. So what comes after it in
 * its own route is refused, and it takes itself what no entry of any route takes.
 */
function entriesOf({ key, object, rules }: ParsedRoute): readonly Entry[] {
  const meant = rules.flatMap(({ matches, action }, rule) =>
    matches.map(
      ({ match, meant }): Meant => ({
        route: key,
        created: object.metadata.creationTimestamp ?? '',
        rule,
        match: meant ?? match,
        isLast: false,
        action,
        ...(meant && { actual: match }),
      }),
    ),
  );
  if (meant.every(({ actual }) => actual === undefined)) return meant;
  let isRefused = false;
  return inOrder(meant).map(({ actual, ...entry }): Entry => {
    isRefused ||= actual !== undefined;
    if (!isRefused) return entry;
    return {
      ...entry,
      match: actual ?? entry.match,
      isLast: actual !== undefined,
      action: { kind: 'error' },
    };
  });
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
