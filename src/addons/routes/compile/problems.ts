import { type AttachedPort, portText } from './attach.ts';
import type { Compilation } from './compile.ts';
import { entryName } from './entry-configuration.ts';
import { type FaultReason, faultText } from './findings.ts';
import type { Entry, Match, PathMatch, ValueMatch } from './model.ts';
import type { ObjectKey } from './objects.ts';
import { shown } from './parse-match.ts';
import type { RoutedPort } from './port-table.ts';
import type { Route } from './route.ts';
import { unservedText } from './status.ts';

/** What keeps a route from doing what it says. */
export interface RouteProblem {
  readonly reason:
    | FaultReason
    | 'NoMatchingParent'
    | 'NoServiceParent'
    | 'AddressTaken'
    | 'RuleNeverMatches'
    | 'NoBackend'
    | 'HostnamesIgnored'
    | 'NoSidecar'
    | 'RoutesTooLarge';
  readonly message: string;
}

export const NO_SIDECAR: RouteProblem = {
  reason: 'NoSidecar',
  message: 'no running pod follows this route: its clients need the template transparent',
};

/** All problems of a route: those of its status, and rules that never match. */
export function routeProblems(compilation: Compilation, key: ObjectKey): readonly RouteProblem[] {
  const route = compilation.routes.get(key);
  if (route === undefined) return [];
  const { object, attachments, faults, unserved } = route;
  if (attachments.length === 0) {
    const message = 'sidecars ignore this route: no parentRef has group "" and kind Service';
    return [{ reason: 'NoServiceParent', message }];
  }
  const routed = compilation.ports(object.metadata.namespace ?? '');
  const problems = [
    ...attachments.flatMap((attachment): readonly RouteProblem[] =>
      'missing' in attachment
        ? [{ reason: attachment.reason ?? 'NoMatchingParent', message: attachment.missing }]
        : attachment.ports.flatMap((port) => portProblems(key, port, routed)),
    ),
    ...faults.map((fault) => ({ reason: fault.reason, message: faultText(fault) })),
    ...(attachments.some((attachment) => 'ports' in attachment) ? unserved : []).map(
      (rule): RouteProblem => ({ reason: 'NoBackend', message: unservedText(rule) }),
    ),
    ...unusedHostnames(object),
  ];
  // Several ports have the same ones.
  return [...new Map(problems.map((problem) => [problem.message, problem])).values()];
}

/** For a Service, the API ignores host names. A Gateway beside it uses them. */
function unusedHostnames({ spec }: Route): readonly RouteProblem[] {
  const isUsed = spec.parentRefs?.some(({ kind }) => kind !== 'Service');
  if (isUsed || !spec.hostnames?.length) return [];
  const message = 'hostnames: sidecars ignore them, and find the Service by address: match the header Host';
  return [{ reason: 'HostnamesIgnored', message }];
}

function portProblems(
  key: ObjectKey,
  port: AttachedPort,
  routed: readonly RoutedPort[],
): readonly RouteProblem[] {
  const found = findPort(routed, port);
  if (found) return unreachable(key, found);
  return [{ reason: 'AddressTaken', message: `another Service has the addresses of ${portText(port)}` }];
}

/** The matches of a route that never win, because an earlier one is the same. */
function unreachable(key: ObjectKey, { entries }: RoutedPort): readonly RouteProblem[] {
  const first = new Map<string, Entry>();
  return entries.flatMap((entry) => {
    const text = matchText(entry.match);
    const earlier = first.get(text);
    if (earlier === undefined) first.set(text, entry);
    if (earlier === undefined || entry.route !== key) return [];
    const message = `rules[${entry.rule}] gets no request with ${text}: ${entryName(earlier)} has the same match and comes first`;
    return [{ reason: 'RuleNeverMatches', message }];
  });
}

/** The port with the routes that apply to it; undefined if another Service has its addresses. */
export function findPort(
  routed: readonly RoutedPort[],
  { service, port }: AttachedPort,
): RoutedPort | undefined {
  return routed.find((each) => each.service === service && each.port === port);
}

/** Such as `below "/a"`. */
export function pathText({ type, value }: PathMatch): string {
  if (type === 'Exact') return shown(value);
  return type === 'PathPrefix' ? `below ${shown(value)}` : `a match of ${shown(value)}`;
}

/** Such as `path below "/a", method GET`. */
export function matchText({ path, method, call, headers, queryParams: params }: Match): string {
  const value = (kind: string) => (each: ValueMatch) =>
    `${kind} ${each.name}${each.isRegex ? '~' : '='}${shown(each.value)}`;
  return [
    ...(call ? [`method ${call.service || '*'}/${call.method || '*'}`] : []),
    ...(call && path.type !== 'RegularExpression' ? [] : [`path ${pathText(path)}`]),
    ...(method === undefined ? [] : [`method ${method}`]),
    ...headers.map(value('header')),
    ...params.map(value('query parameter')),
  ].join(', ');
}
