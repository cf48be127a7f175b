import type { ObjectKey } from '../../../kube/api/object.ts';
import { parseDuration } from '../../../util/duration.ts';
import { Place, type RouteFault } from './findings.ts';
import type { Action, Backend, Broken, Match, Retry } from './model.ts';
import {
  parseBackendFilters,
  parseFilters,
  parseTarget,
  type Scope,
  TARGET_FIELDS,
} from './parse-filters.ts';
import { ANY, type ParsedMatch, parseMatch, parseMethodMatch, shown } from './parse-match.ts';
import { type HTTPBackendRef, type HTTPRouteRule, isGrpcRoute, type Route, routeKey } from './route.ts';

/** A route as far as it alone says. Whether its Services exist, it does not. */
export interface ParsedRoute {
  readonly key: ObjectKey;
  readonly object: Route;
  readonly rules: readonly ParsedRule[];
  readonly faults: readonly RouteFault[];
}

export interface ParsedRule {
  readonly matches: readonly ParsedMatch[];
  readonly action: Action;
}

/** The backends and mirrors of a route, each with the path of what names it. */
export function targetsIn({ rules }: ParsedRoute) {
  return rules.flatMap(({ action }, rule) => {
    if (action.kind !== 'forward') return [];
    const backends = action.backends.flatMap((backend, index) =>
      'broken' in backend ? [] : { target: backend, path: `rules[${rule}].backendRefs[${index}]` },
    );
    return [...backends, ...action.mirrors.map((target) => ({ target, path: `rules[${rule}].filters` }))];
  });
}

/** `useDefaultGateways` is for Gateways alone. */
const SPEC_FIELDS = ['parentRefs', 'hostnames', 'rules', 'useDefaultGateways'];
const RULE_FIELDS = ['name', 'matches', 'filters', 'backendRefs'];
const MAX_WEIGHT = 1_000_000;
/** Of retries. The API has no limit. */
const MAX_ATTEMPTS = 1000;

/** Reads a route. An invalid rule stays, with an error as its action, and a fault that says why. */
export function parseRoute(object: Route): ParsedRoute {
  const at = new Place();
  at.in('spec').ignoredFields(object.spec, SPEC_FIELDS, ', so the route works without it');
  const { namespace = '' } = object.metadata;
  const rules = isGrpcRoute(object)
    ? parseRules(object.spec.rules, GRPC_RULE, namespace, at)
    : parseRules(object.spec.rules, HTTP_RULE, namespace, at);
  return { key: routeKey(object), object, rules, faults: at.faults };
}

interface Rule<M> extends Omit<HTTPRouteRule, 'matches'> {
  readonly matches?: readonly M[];
}

/** What is different between kinds of routes. */
interface RuleKind<M> {
  readonly fields: readonly string[];
  /** The match of a rule that has none. */
  readonly any: Match;
  readonly parse: (match: M, at: Place) => ParsedMatch;
}

const HTTP_RULE = { fields: [...RULE_FIELDS, 'timeouts', 'retry'], any: ANY, parse: parseMatch };
const GRPC_RULE = {
  fields: RULE_FIELDS,
  any: { ...ANY, call: { service: '', method: '' } },
  parse: parseMethodMatch,
};

function parseRules<M>(
  rules: readonly Rule<M>[] = [{}],
  { fields, any, parse }: RuleKind<M>,
  namespace: string,
  all: Place,
): readonly ParsedRule[] {
  return rules.map((rule, index) => {
    const at = all.in('rules', index);
    // What decides which requests go where is in matches, filters and backends.
    at.ignoredFields(rule, fields);
    const given = rule.matches?.map((match, i) => parse(match, at.in('matches', i))) ?? [];
    const matches = given.length > 0 ? given : [{ match: any }];
    const { timeouts: _, retry: __, ...common } = rule;
    const known = fields === RULE_FIELDS ? common : rule;
    const scope = { matches: matches.map(({ match }) => match), namespace };
    return { matches, action: parseAction(known, scope, at) };
  });
}

function parseAction(rule: Omit<HTTPRouteRule, 'matches'>, scope: Scope, at: Place): Action {
  const filters = parseFilters(rule.filters, scope, at.in('filters'));
  const times = parseTimeouts(rule.timeouts, at.in('timeouts'));
  const retry = parseRetry(rule.retry, at.in('retry'));
  const references = rule.backendRefs ?? [];
  if (filters?.redirect && references.length > 0) {
    at.add('IncompatibleFilters', 'has RequestRedirect and backendRefs: remove one of them');
    return { kind: 'error' };
  }
  const backends = references.map((reference, index) =>
    parseBackend(reference, scope, at.in('backendRefs', index)),
  );
  if (filters === undefined || times === undefined || retry === undefined) return { kind: 'error' };
  const { redirect, mirrors, ...own } = filters;
  if (redirect) return { kind: 'redirect', redirect, ...own };
  return { kind: 'forward', ...own, mirrors, ...times, ...(retry && { retry }), backends };
}

function parseBackend(reference: HTTPBackendRef, scope: Scope, at: Place): Backend | Broken {
  const { filters, weight = 1 } = reference;
  const isUnknown = at.unknownFields(reference, [...TARGET_FIELDS, 'filters', 'weight']);
  const target = parseTarget(reference, scope.namespace, at);
  const own = parseBackendFilters(filters, scope, at.in('filters'));
  if (!(weight >= 0 && weight <= MAX_WEIGHT)) {
    at.in('weight').add('UnsupportedValue', `${weight} is not between 0 and ${MAX_WEIGHT}`);
    return { weight: 1, broken: true };
  }
  if (isUnknown || target === undefined || own === undefined) return { weight, broken: true };
  return { ...target, weight, ...own };
}

function parseTimeouts(
  given: HTTPRouteRule['timeouts'] = {},
  at: Place,
): { readonly timeout?: number; readonly backendTimeout?: number } | undefined {
  at.ignoredFields(given, ['request', 'backendRequest']);
  const timeout = durationIn(given.request, at.in('request'));
  const backendTimeout = durationIn(given.backendRequest, at.in('backendRequest'));
  if (timeout === undefined || backendTimeout === undefined) return undefined;
  return { ...(timeout > 0 && { timeout }), ...(backendTimeout > 0 && { backendTimeout }) };
}

/** False if there is none, undefined if it is invalid. */
function parseRetry(given: HTTPRouteRule['retry'], at: Place): Retry | false | undefined {
  if (given === undefined) return false;
  at.ignoredFields(given, ['attempts', 'codes', 'backoff']);
  const { attempts = 1, codes = [] } = given;
  const backoff = durationIn(given.backoff, at.in('backoff'));
  const wrong = codes.find((code) => !(code >= 400 && code <= 599));
  if (wrong !== undefined) {
    return at.in('codes').add('UnsupportedValue', `${wrong} is not between 400 and 599`);
  }
  if (!(attempts >= 0)) return at.in('attempts').add('UnsupportedValue', `${attempts} is negative`);
  if (attempts > MAX_ATTEMPTS) at.in('attempts').add('FieldIgnored', `no more than ${MAX_ATTEMPTS} are made`);
  if (backoff === undefined) return undefined;
  return {
    attempts: Math.min(attempts, MAX_ATTEMPTS),
    codes: [...new Set(codes)],
    ...(backoff > 0 && { backoff }),
  };
}

/** The milliseconds of a duration (GEP-2257) such as 1h30m; 0 if there is none. */
function durationIn(text: string | undefined, at: Place): number | undefined {
  if (text === undefined) return 0;
  if (!/^([0-9]{1,5}(h|m|s|ms)){1,4}$/.test(text)) {
    return at.add('UnsupportedValue', `${shown(text)} is not a duration such as 10s`);
  }
  return parseDuration(text, Infinity);
}
