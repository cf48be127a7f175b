import type { ObjectKey } from '../../../kube/api/object.ts';
import type { HTTPCORSFilter, HTTPHeaderFilter } from './route.ts';

/** What a route asks for, independent of Envoy: for each port of a Service its matches, and for each match an action. */

/** Criteria that a request must all meet. */
export interface Match {
  readonly path: PathMatch;
  readonly method?: string;
  /** Of a GRPCRoute: the parts of the path as they are given, empty for any. */
  readonly call?: { readonly service: string; readonly method: string };
  /** Names are in lower case. */
  readonly headers: readonly ValueMatch[];
  readonly queryParams: readonly ValueMatch[];
}

/** The most specific first. */
export const PATH_TYPES = ['Exact', 'RegularExpression', 'PathPrefix'] as const;

export interface PathMatch {
  readonly type: (typeof PATH_TYPES)[number];
  /** A prefix ends without a slash, except `/` itself. */
  readonly value: string;
}

export interface ValueMatch {
  readonly name: string;
  readonly value: string;
  readonly isRegex: boolean;
}

/** Changes to headers. */
export type HeaderChanges = Required<HTTPHeaderFilter>;

/** Changes to both directions' headers. */
export interface Modifiers {
  readonly request?: HeaderChanges;
  readonly response?: HeaderChanges;
}

/** A new path: all of it, or in place of the prefix that matched. */
export type NewPath =
  | { readonly full: string }
  | {
      /** What the match found. Both end without a slash, and `/` is empty. */
      readonly prefix: string;
      readonly replacement: string;
    };

export interface Redirect {
  readonly scheme?: 'http' | 'https';
  readonly hostname?: string;
  readonly port?: number;
  readonly path?: NewPath;
  readonly status: number;
}

/** A port of a Service to send requests to. */
export interface Target {
  readonly service: ObjectKey;
  readonly port: number;
}

/** What filters ask for: those of a rule, or of one backend. */
export interface Filtered {
  readonly modifiers: Modifiers;
  readonly hostname?: string;
  readonly path?: NewPath;
  readonly cors?: Cors;
}

/** Which pages of other origins may read the answers. The age is in seconds. */
export type Cors = Required<HTTPCORSFilter>;

export interface Backend extends Target, Filtered {
  readonly weight: number;
}

export interface Mirror extends Target {
  /** Of a million requests. */
  readonly share: number;
}

/** A share of the requests that gets an error. */
export interface Broken {
  readonly weight: number;
  readonly broken: true;
}

export interface Forward extends Filtered {
  readonly kind: 'forward';
  readonly backends: readonly (Backend | Broken)[];
  readonly mirrors: readonly Mirror[];
  /** In milliseconds. */
  readonly timeout?: number;
  readonly backendTimeout?: number;
  /** Undefined: failed connections alone are tried again. */
  readonly retry?: Retry;
}

export interface Retry {
  /** Beside the first one. */
  readonly attempts: number;
  /** The statuses of answers after which to try again. */
  readonly codes: readonly number[];
  /** Before the first retry, in milliseconds. */
  readonly backoff?: number;
}

/** What happens to a request that matches. */
export type Action =
  | Forward
  | (Filtered & { readonly kind: 'redirect'; readonly redirect: Redirect })
  /** The rule is invalid: requests get 500, calls UNAVAILABLE. */
  | { readonly kind: 'error' };

/** The ports that requests and copies of them go to. */
export function targetsOf(action: Action): readonly Target[] {
  if (action.kind !== 'forward') return [];
  return [...action.backends.flatMap((backend) => ('broken' in backend ? [] : backend)), ...action.mirrors];
}

/** One match of one rule, with all that decides its place among others. */
export interface Entry {
  readonly route: ObjectKey;
  /** The creation timestamp of the route: RFC 3339, so that the text has the order of time. */
  readonly created: string;
  readonly rule: number;
  readonly match: Match;
  /** Part of the match has no meaning. It takes only what no other entry takes. */
  readonly isLast: boolean;
  readonly action: Action;
}

/**
 * Puts entries in the order in which a request is compared with them, by the rules of the Gateway API: exact paths,
 * longer paths, methods, more headers, more query parameters. Equals are in the order of their age, their name and
 * their place in the route. The API leaves open where regular expressions are: here, before prefixes.
 */
export function inOrder<T extends Entry>(entries: readonly T[]): readonly T[] {
  return [...entries].sort(compareEntries);
}

function compareEntries(a: Entry, b: Entry): number {
  return (
    Number(a.isLast) - Number(b.isLast) ||
    (a.match.call && b.match.call ? compareCalls(a.match.call, b.match.call) : comparePaths(a, b)) ||
    b.match.headers.length - a.match.headers.length ||
    b.match.queryParams.length - a.match.queryParams.length ||
    compareText(a.created, b.created) ||
    // Within a route, entries come in the order of its rules, and sorting keeps that.
    compareText(a.route, b.route)
  );
}

/** A longer service, then a longer method, whatever their types are. */
function compareCalls(a: NonNullable<Match['call']>, b: NonNullable<Match['call']>): number {
  return b.service.length - a.service.length || b.method.length - a.method.length;
}

function comparePaths(a: Entry, b: Entry): number {
  return (
    PATH_TYPES.indexOf(a.match.path.type) - PATH_TYPES.indexOf(b.match.path.type) ||
    b.match.path.value.length - a.match.path.value.length ||
    Number(b.match.method !== undefined) - Number(a.match.method !== undefined)
  );
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
