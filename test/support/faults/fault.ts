/** What a fault proxy does within the body of an answer, after so many lines of a watch, or kB of anything else. */
export type BodyFault =
  /** Cuts the connection. */
  | { readonly kind: 'cut'; readonly after: number }
  /** Ends the answer as if that were all. */
  | { readonly kind: 'end'; readonly after: number }
  /** Sends nothing more, and does not hang up either: the connection is half-open. */
  | { readonly kind: 'stall'; readonly after: number }
  /** Sends one byte each so many milliseconds, and never comes to the end. */
  | { readonly kind: 'drip'; readonly after: number; readonly everyMs: number }
  /** Loses most of the line that comes next; of a list, which is a single line, all the rest. */
  | { readonly kind: 'truncate'; readonly after: number }
  /** Puts in what does not belong there. */
  | { readonly kind: 'insert'; readonly after: number; readonly text: string };

/** What a fault proxy does to one request. */
export type Fault =
  | BodyFault
  /** Passes it on as it is. */
  | { readonly kind: 'none' }
  /** Passes it on later. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** Cuts the connection instead of an answer. */
  | { readonly kind: 'reset' }
  /** Never answers, and does not hang up either. */
  | { readonly kind: 'hang' }
  /** Answers itself. After 410, watches of the past are refused until there has been a list. */
  | { readonly kind: 'status'; readonly code: number; readonly retryAfter?: number }
  /** Was restored from a backup: it knows no state as new as the one that is asked for, until asked for its newest. */
  | { readonly kind: 'behind' }
  /** Begins an outage, which ends after this. */
  | { readonly kind: OutageKind; readonly ms: number };

/** What becomes of connections while the server is away. */
export type OutageKind =
  /** All are cut, and new ones refused: the server is being restarted. */
  | 'refuse'
  /** All are cut, and new ones accepted without a TLS handshake. */
  | 'no-handshake'
  /** Those of open watches live on, the others are cut, and new ones accepted without a TLS handshake. */
  | 'half'
  /** All are cut, and the SYNs of new ones dropped. */
  | 'blackhole';

/** A text for `insert`: an event of a watch that says what went wrong. */
export function errorEvent(code: number, reason: string): string {
  const object = {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    code,
    reason,
    message: `injected ${code}`,
  };
  return `${JSON.stringify({ type: 'ERROR', object })}\n`;
}
