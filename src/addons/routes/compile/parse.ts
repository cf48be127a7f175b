import type { Path } from '../../../util/diagnostic.ts';
import { parseDuration } from '../../../util/duration.ts';
import { Findings, type RouteFault } from './findings.ts';
import type { HTTPBackendRef, HTTPRoute, HTTPRouteRule } from './http-route.ts';
import type { Action, Backend, Broken, Match } from './model.ts';
import { keyOf, type ObjectKey } from './objects.ts';
import { parseBackendFilters, parseFilters, parseTarget } from './parse-filters.ts';
import { type ParsedMatch, parseMatch, shown } from './parse-match.ts';

/** A route as far as it alone says. Whether its Services exist, it does not. */
export interface ParsedRoute {
  readonly key: ObjectKey;
  readonly object: HTTPRoute;
  readonly rules: readonly ParsedRule[];
  readonly faults: readonly RouteFault[];
}

export interface ParsedRule {
  readonly name?: string;
  readonly matches: readonly ParsedMatch[];
  readonly action: Action;
}

const RULE_FIELDS = ['name', 'matches', 'filters', 'backendRefs', 'timeouts'];
const MAX_WEIGHT = 1_000_000;

/** Reads a route. An invalid rule stays, with an error as its action, and a fault that says why. */
export function parseRoute(object: HTTPRoute): ParsedRoute {
  const findings = new Findings();
  const namespace = object.metadata.namespace ?? '';
  const rules = (object.spec.rules ?? [{}]).map((rule, index) =>
    parseRule(rule, namespace, ['rules', index], findings),
  );
  return { key: keyOf(object), object, rules, faults: findings.faults };
}

function parseRule(rule: HTTPRouteRule, namespace: string, at: Path, findings: Findings): ParsedRule {
  const given = rule.matches?.length ? rule.matches : [{}];
  const matches = given.map((match, index) => parseMatch(match, [...at, 'matches', index], findings));
  const action = parseAction(
    rule,
    matches.map(({ match }) => match),
    namespace,
    at,
    findings,
  );
  return { ...(rule.name !== undefined && { name: rule.name }), matches, action };
}

function parseAction(
  rule: HTTPRouteRule,
  matches: readonly Match[],
  namespace: string,
  at: Path,
  findings: Findings,
): Action {
  const isUnknown = findings.unknownFields(rule, at, RULE_FIELDS);
  const filters = parseFilters(rule.filters, matches, namespace, [...at, 'filters'], findings);
  const times = parseTimeouts(rule.timeouts, [...at, 'timeouts'], findings);
  const references = rule.backendRefs ?? [];
  if (filters?.redirect && references.length > 0) {
    findings.add('IncompatibleFilters', at, 'has RequestRedirect and backendRefs: remove one of them');
    return { kind: 'error' };
  }
  const backends = references.map((reference, index) =>
    parseBackend(reference, namespace, [...at, 'backendRefs', index], findings),
  );
  if (isUnknown || filters === undefined || times === undefined) return { kind: 'error' };
  const { modifiers, redirect, ...rest } = filters;
  if (redirect) return { kind: 'redirect', redirect, modifiers };
  return { kind: 'forward', ...rest, ...times, backends, modifiers };
}

function parseBackend(
  reference: HTTPBackendRef,
  namespace: string,
  at: Path,
  findings: Findings,
): Backend | Broken {
  const { filters, weight = 1, group, kind, name, namespace: other, port, ...rest } = reference;
  const isUnknown = findings.unknownFields(rest, at, []);
  const target = parseTarget(
    {
      name,
      ...(group !== undefined && { group }),
      ...(kind !== undefined && { kind }),
      ...(other !== undefined && { namespace: other }),
      ...(port !== undefined && { port }),
    },
    namespace,
    at,
    findings,
  );
  const modifiers = parseBackendFilters(filters, [...at, 'filters'], findings);
  if (!(weight >= 0 && weight <= MAX_WEIGHT)) {
    findings.add('UnsupportedValue', [...at, 'weight'], `${weight} is not from 0 to ${MAX_WEIGHT}`);
    return { weight: 1, broken: true };
  }
  if (isUnknown || target === undefined || modifiers === undefined) return { weight, broken: true };
  return { ...target, weight, modifiers };
}

function parseTimeouts(
  { request, backendRequest, ...rest }: NonNullable<HTTPRouteRule['timeouts']> = {},
  at: Path,
  findings: Findings,
): { readonly timeout?: number; readonly backendTimeout?: number } | undefined {
  const isUnknown = findings.unknownFields(rest, at, []);
  const timeout = durationIn(request, [...at, 'request'], findings);
  const backendTimeout = durationIn(backendRequest, [...at, 'backendRequest'], findings);
  if (isUnknown || timeout === undefined || backendTimeout === undefined) return undefined;
  return { ...(timeout > 0 && { timeout }), ...(backendTimeout > 0 && { backendTimeout }) };
}

/** The milliseconds of a duration (GEP-2257) such as 1h30m; 0 if there is none. */
function durationIn(text: string | undefined, at: Path, findings: Findings): number | undefined {
  if (text === undefined) return 0;
  if (!/^([0-9]{1,5}(h|m|s|ms)){1,4}$/.test(text)) {
    return findings.add('UnsupportedValue', at, `${shown(text)} is not a duration such as 10s`);
  }
  return parseDuration(text, Infinity);
}
