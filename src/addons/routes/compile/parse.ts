import type { Path } from '../../../util/diagnostic.ts';
import { parseDuration } from '../../../util/duration.ts';
import { Findings, type RouteFault } from './findings.ts';
import { isGrpcRoute, type Route, routeKey } from './grpc-route.ts';
import type { HTTPBackendRef, HTTPRouteRule } from './http-route.ts';
import type { Action, Backend, Broken, Match, Retry } from './model.ts';
import type { ObjectKey } from './objects.ts';
import { parseBackendFilters, parseFilters, parseTarget, TARGET_FIELDS } from './parse-filters.ts';
import { ANY, type ParsedMatch, parseMatch, shown } from './parse-match.ts';
import { parseMethodMatch } from './parse-method.ts';

/** A route as far as it alone says. Whether its Services exist, it does not. */
export interface ParsedRoute {
  readonly key: ObjectKey;
  readonly object: Route;
  readonly rules: readonly ParsedRule[];
  readonly faults: readonly RouteFault[];
}

export interface ParsedRule {
  readonly name?: string;
  readonly matches: readonly ParsedMatch[];
  readonly action: Action;
}

/** `useDefaultGateways` is for Gateways alone. */
const SPEC_FIELDS = ['parentRefs', 'hostnames', 'rules', 'useDefaultGateways'];
const RULE_FIELDS = ['name', 'matches', 'filters', 'backendRefs'];
const MAX_WEIGHT = 1_000_000;
/** Of retries. The API has no limit. */
const MAX_ATTEMPTS = 1000;

/** Reads a route. An invalid rule stays, with an error as its action, and a fault that says why. */
export function parseRoute(object: Route): ParsedRoute {
  const findings = new Findings();
  findings.ignoredFields(object.spec, ['spec'], SPEC_FIELDS, 'the route works as without it');
  const namespace = object.metadata.namespace ?? '';
  const rules = isGrpcRoute(object)
    ? parseRules(object.spec.rules, GRPC_RULE, parseMethodMatch, namespace, findings)
    : parseRules(object.spec.rules, HTTP_RULE, parseMatch, namespace, findings);
  return { key: routeKey(object), object, rules, faults: findings.faults };
}

interface Rule<M> extends Omit<HTTPRouteRule, 'matches'> {
  readonly matches?: readonly M[];
}

/** What is different between kinds of routes. */
interface RuleKind {
  readonly fields: readonly string[];
  /** The match of a rule that has none. */
  readonly any: Match;
}

const HTTP_RULE = { fields: [...RULE_FIELDS, 'timeouts', 'retry'], any: ANY };
const GRPC_RULE = { fields: RULE_FIELDS, any: { ...ANY, call: { service: '', method: '' } } };

function parseRules<M>(
  rules: readonly Rule<M>[] = [{}],
  { fields, any }: RuleKind,
  parse: (match: M, at: Path, findings: Findings) => ParsedMatch,
  namespace: string,
  findings: Findings,
): readonly ParsedRule[] {
  return rules.map((rule, index) => {
    const at = ['rules', index];
    // What decides which requests go where is in matches, filters and backends.
    findings.ignoredFields(rule, at, fields);
    const given = rule.matches?.map((match, i) => parse(match, [...at, 'matches', i], findings)) ?? [];
    const matches = given.length > 0 ? given : [{ match: any }];
    const { timeouts: _, retry: __, ...common } = rule;
    const known = fields === RULE_FIELDS ? common : rule;
    const action = parseAction(
      known,
      matches.map(({ match }) => match),
      namespace,
      at,
      findings,
    );
    return { ...(rule.name !== undefined && { name: rule.name }), matches, action };
  });
}

function parseAction(
  rule: Omit<HTTPRouteRule, 'matches'>,
  matches: readonly Match[],
  namespace: string,
  at: Path,
  findings: Findings,
): Action {
  const filters = parseFilters(rule.filters, matches, namespace, [...at, 'filters'], findings);
  const times = parseTimeouts(rule.timeouts, [...at, 'timeouts'], findings);
  const retry = parseRetry(rule.retry, [...at, 'retry'], findings);
  const references = rule.backendRefs ?? [];
  if (filters?.redirect && references.length > 0) {
    findings.add('IncompatibleFilters', at, 'has RequestRedirect and backendRefs: remove one of them');
    return { kind: 'error' };
  }
  const backends = references.map((reference, index) =>
    parseBackend(reference, matches, namespace, [...at, 'backendRefs', index], findings),
  );
  if (filters === undefined || times === undefined || retry === undefined) return { kind: 'error' };
  const { redirect, mirrors, ...own } = filters;
  if (redirect) return { kind: 'redirect', redirect, ...own };
  return { kind: 'forward', ...own, mirrors, ...times, ...(retry && { retry }), backends };
}

function parseBackend(
  reference: HTTPBackendRef,
  matches: readonly Match[],
  namespace: string,
  at: Path,
  findings: Findings,
): Backend | Broken {
  const { filters, weight = 1 } = reference;
  const isUnknown = findings.unknownFields(reference, at, [...TARGET_FIELDS, 'filters', 'weight']);
  const target = parseTarget(reference, namespace, at, findings);
  const own = parseBackendFilters(filters, matches, namespace, [...at, 'filters'], findings);
  if (!(weight >= 0 && weight <= MAX_WEIGHT)) {
    findings.add('UnsupportedValue', [...at, 'weight'], `${weight} is not from 0 to ${MAX_WEIGHT}`);
    return { weight: 1, broken: true };
  }
  if (isUnknown || target === undefined || own === undefined) return { weight, broken: true };
  return { ...target, weight, ...own };
}

function parseTimeouts(
  given: HTTPRouteRule['timeouts'] = {},
  at: Path,
  findings: Findings,
): { readonly timeout?: number; readonly backendTimeout?: number } | undefined {
  findings.ignoredFields(given, at, ['request', 'backendRequest']);
  const timeout = durationIn(given.request, [...at, 'request'], findings);
  const backendTimeout = durationIn(given.backendRequest, [...at, 'backendRequest'], findings);
  if (timeout === undefined || backendTimeout === undefined) return undefined;
  return { ...(timeout > 0 && { timeout }), ...(backendTimeout > 0 && { backendTimeout }) };
}

/** False if there is none, undefined if it is invalid. */
function parseRetry(given: HTTPRouteRule['retry'], at: Path, findings: Findings): Retry | false | undefined {
  if (given === undefined) return false;
  findings.ignoredFields(given, at, ['attempts', 'codes', 'backoff']);
  const { attempts = 1, codes = [] } = given;
  const backoff = durationIn(given.backoff, [...at, 'backoff'], findings);
  const wrong = codes.find((code) => !(code >= 400 && code <= 599));
  if (wrong !== undefined) {
    return findings.add('UnsupportedValue', [...at, 'codes'], `${wrong} is not from 400 to 599`);
  }
  if (!(attempts >= 0)) {
    return findings.add('UnsupportedValue', [...at, 'attempts'], `${attempts} is not 0 or more`);
  }
  if (attempts > MAX_ATTEMPTS) {
    findings.add(
      'FieldIgnored',
      [...at, 'attempts'],
      `${attempts} are too many: the sidecar tries ${MAX_ATTEMPTS} times`,
    );
  }
  if (backoff === undefined) return undefined;
  return {
    attempts: Math.min(attempts, MAX_ATTEMPTS),
    codes: [...new Set(codes)],
    ...(backoff > 0 && { backoff }),
  };
}

/** The milliseconds of a duration (GEP-2257) such as 1h30m; 0 if there is none. */
function durationIn(text: string | undefined, at: Path, findings: Findings): number | undefined {
  if (text === undefined) return 0;
  if (!/^([0-9]{1,5}(h|m|s|ms)){1,4}$/.test(text)) {
    return findings.add('UnsupportedValue', at, `${shown(text)} is not a duration such as 10s`);
  }
  return parseDuration(text, Infinity);
}
