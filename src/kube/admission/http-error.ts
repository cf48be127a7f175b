/** Why a call or a connection was refused to protect others: the label `reason` of a metric. */
export type RefusalReason =
  /** The handshake, the head, the body or the reading of the answer took too long. */
  | 'too_slow'
  /** The bodies of unanswered calls use all of their memory budget. */
  | 'no_room'
  | 'too_large'
  /** Too many connections: this one gave way to a newer one. */
  | 'too_many_connections'
  /** Too many requests for objects that are not cached. */
  | 'too_many_lookups'
  /** The TLS handshake failed, or the client has no certificate that --client-ca-file trusts. */
  | 'handshake_failed'
  /** The data is not HTTP. */
  | 'malformed';

/** An answer other than 200, with a text of one line. */
export class HttpError extends Error {
  readonly status: number;
  readonly refusal: RefusalReason | undefined;

  constructor(status: number, message: string, refusal?: RefusalReason) {
    super(message);
    this.status = status;
    this.refusal = refusal;
  }
}
