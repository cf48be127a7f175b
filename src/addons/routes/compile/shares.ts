import type { AttachedPort } from './attach.ts';
import { AUTOMATON_BYTES, largestBeyond, MAX_BYTES, MAX_ROUTE_BYTES, STEP_BYTES } from './left-out.ts';
import { methodPattern } from './parse-match.ts';
import type { Draft, PlacedRoute } from './port-table.ts';
import { MAX_STEPS, regexSteps } from './regex.ts';
import { isGrpcRoute, type Route, routeKey, routeText } from './route.ts';

/** At least what one entry takes in the file. */
const ENTRY_BYTES = 130;
const HOW = `each match adds the backends and filters of its rule again; a regular expression adds ${STEP_BYTES} bytes per step, and 1 per ${AUTOMATON_BYTES} bytes of its cache in Envoy`;

const said = new WeakMap<Route, number>();

/** What the rules of a route say, in bytes. It takes time in proportion to that. */
export function saidBytes(route: Route): number {
  const known = said.get(route);
  if (known !== undefined) return known;
  const text = Buffer.byteLength(JSON.stringify(route.spec.rules ?? []));
  // What is too long is not looked at any closer.
  const bytes = text > MAX_ROUTE_BYTES ? text : text + STEP_BYTES * stepsOf(route);
  said.set(route, bytes);
  return bytes;
}

/** A route as a cache keeps it: without its rules, if they are too long. What they said is remembered. */
export function withoutLongRules<T extends Route>(route: T): T {
  const bytes = saidBytes(route);
  const { rules, ...spec } = route.spec;
  const kept = bytes > MAX_ROUTE_BYTES ? { ...route, spec } : route;
  said.set(kept, bytes);
  return kept;
}

function stepsOf(route: Route): number {
  return [...patternsOf(route)].reduce((sum, pattern) => {
    const steps = regexSteps(pattern);
    // One with more is refused, not compiled.
    return steps > MAX_STEPS ? sum : sum + steps;
  }, 0);
}

/** The regular expressions of a route. */
export function* patternsOf(route: Route): Generator<string> {
  const values = isGrpcRoute(route)
    ? matchesOf(route.spec.rules).flatMap(({ method, headers = [] }) => [
        ...(method ? [{ type: method.type, value: methodPattern(method) }] : []),
        ...headers,
      ])
    : matchesOf(route.spec.rules).flatMap(({ path, headers = [], queryParams = [] }) => [
        ...(path ? [path] : []),
        ...headers,
        ...queryParams,
      ]);
  for (const { type, value } of values) {
    if (type === 'RegularExpression' && value !== undefined) yield value;
  }
}

function matchesOf<M>(rules: readonly { readonly matches?: readonly M[] }[] = []): readonly M[] {
  return rules.flatMap(({ matches = [] }) => matches);
}

/**
 * The routes that are not even read, and why: they would exceed the share of their namespace, whatever they say. There is a
 * step for each.
 */
export function* unread(
  routes: Iterable<readonly [Route, readonly AttachedPort[]]>,
): Generator<void, ReadonlyMap<Route, string>> {
  const out = new Map<Route, string>();
  const namespaces = new Map<string, Map<string, number>>();
  const byKey = new Map<string, Route>();
  for (const [route, ports] of routes) {
    yield;
    const [bytes, key, { namespace = '' }] = [saidBytes(route), routeKey(route), route.metadata];
    if (bytes > MAX_ROUTE_BYTES) {
      out.set(
        route,
        `${routeText(key)} takes ${bytes} bytes, more than ${MAX_ROUTE_BYTES} (a step of a regular expression counts as ${STEP_BYTES}): split it into several routes`,
      );
      continue;
    }
    byKey.set(key, route);
    const sizes = namespaces.get(namespace) ?? new Map<string, number>();
    namespaces.set(namespace, sizes.set(key, bytes + ENTRY_BYTES * ports.length));
  }
  for (const [namespace, sizes] of namespaces) {
    for (const [key, bytes] of largestBeyond(sizes, MAX_BYTES)) {
      const route = byKey.get(key);
      if (route) out.set(route, shareText(routeText(key), bytes, namespace));
      yield;
    }
  }
  return out;
}

/**
 * Takes from drafts the ports that do not fit into the share of the namespace of their routes, the largest first, and
 * those with a route that is not read: of the routes of a port, all apply or none. Says why, by {@link heldKey}.
 */
export function withhold(
  drafts: ReadonlyMap<string, Draft>,
  room: number,
  bytesOf: (port: AttachedPort, routes: readonly PlacedRoute[]) => number,
): ReadonlyMap<string, string> {
  const why = new Map<string, string>();
  const namespaces = new Map<string, Map<string, number>>();
  for (const [key, { port, routes: all }] of drafts) {
    for (const [namespace, routes] of all) {
      const unreadRoute = routes.find(({ unread }) => unread !== undefined);
      if (unreadRoute?.unread !== undefined) why.set(heldKey(key, namespace), unreadRoute.unread);
      else {
        const sizes = namespaces.get(namespace) ?? new Map<string, number>();
        namespaces.set(namespace, sizes.set(key, bytesOf(port, routes)));
      }
    }
  }
  for (const [namespace, sizes] of namespaces) {
    for (const [key, bytes] of largestBeyond(sizes, room)) {
      why.set(heldKey(key, namespace), shareText(`the routes of Service port ${key}`, bytes, namespace));
    }
  }
  for (const [key, { routes }] of drafts) {
    for (const namespace of routes.keys()) if (why.has(heldKey(key, namespace))) routes.delete(namespace);
  }
  return why;
}

/** Names the routes of one port in one namespace. */
export function heldKey(draft: string, namespace: string): string {
  return `${namespace} ${draft}`;
}

function shareText(what: string, bytes: number, namespace: string): string {
  return `namespace ${namespace} has more than ${MAX_BYTES} bytes of routes, so the largest are left out, including ${what}, ${bytes} bytes (${HOW}). Clients reach the Service as if it had no routes. Use fewer matches, backends, filters or ports`;
}
