import type { ObjectKey } from './objects.ts';

/** What a route asks for, independent of Envoy: for each port of a Service its matches, and for each match an action. */

/** Criteria that a request must all meet. */
export interface Match {
  readonly path: PathMatch;
  readonly method?: string;
  /** Names are in lower case. */
  readonly headers: readonly ValueMatch[];
  readonly queryParams: readonly ValueMatch[];
}

export interface PathMatch {
  readonly type: 'Exact' | 'PathPrefix' | 'RegularExpression';
  /** A prefix ends without a slash, except `/` itself. */
  readonly value: string;
}

export interface ValueMatch {
  readonly name: string;
  readonly value: string;
  readonly isRegex: boolean;
}

export interface Header {
  readonly name: string;
  readonly value: string;
}

/** Changes to headers. */
export interface HeaderChanges {
  readonly set: readonly Header[];
  readonly add: readonly Header[];
  readonly remove: readonly string[];
}

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

export interface Backend extends Target {
  readonly weight: number;
  readonly modifiers: Modifiers;
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

export interface Forward {
  readonly kind: 'forward';
  readonly backends: readonly (Backend | Broken)[];
  readonly hostname?: string;
  readonly path?: NewPath;
  readonly mirrors: readonly Mirror[];
  /** In milliseconds. */
  readonly timeout?: number;
  readonly backendTimeout?: number;
}

/** What happens to a request that matches. */
export type Action =
  | (Forward & { readonly modifiers: Modifiers })
  | { readonly kind: 'redirect'; readonly redirect: Redirect; readonly modifiers: Modifiers }
  /** The rule is invalid: requests get 500. */
  | { readonly kind: 'error' };

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
