/** Why a call or a connection was refused for the sake of others; as a metric tells it. */
export type RefusalReason =
  /** Handshake, head, body or the reading of the answer took too long. */
  | 'too_slow'
  /** The bodies of calls that are not answered hold all the memory that they may. */
  | 'no_room'
  | 'too_large'
  /** One connection too many: it gave way to a newer one. */
  | 'too_many_connections'
  /** What is not in the caches was asked for too often. */
  | 'too_many_lookups'
  /** The TLS handshake failed, or the client has no certificate that --client-ca-file trusts. */
  | 'handshake_failed'
  /** It is no HTTP. */
  | 'malformed';

/** An answer other than 200, with the one line that it says. */
export class HttpError extends Error {
  readonly status: number;
  readonly refusal: RefusalReason | undefined;

  constructor(
    status: number,
    message: string,
    { refusal, ...options }: ErrorOptions & { readonly refusal?: RefusalReason } = {},
  ) {
    super(message, options);
    this.status = status;
    this.refusal = refusal;
  }
}
