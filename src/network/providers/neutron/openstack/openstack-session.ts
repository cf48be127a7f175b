import { abortable } from '../../../../kube/util/linked-abort.ts';
import type { Clock } from '../../../../kube/workqueue/clock.ts';
import { fetchToken, type Token } from './keystone-token.ts';
import type { Cloud, Keystone } from './openstack-cloud.ts';
import { openStackErrorFrom } from './openstack-error.ts';
import type { HttpAnswer, HttpMethod, OpenStackHttp } from './openstack-http.ts';

export interface NetworkRequest {
  /** Below the API's version: `/networks`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | readonly string[]>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly signal: AbortSignal;
}

export interface OpenStackSessionOptions {
  readonly cloud: Cloud;
  readonly http: Pick<OpenStackHttp, 'send' | 'close'>;
  readonly clock: Clock;
}

interface Held extends Token {
  /** On the clock: from when on a new one is fetched, though this one still serves. */
  readonly renewAt: number;
  readonly expiresAt: number;
}

/** Renewed when so much of its life is left, but no more than five minutes of it. */
const RENEWED_SHARE = 0.2;
const RENEWED_AT_MOST_MS = 5 * 60_000;
/** How long a token that could not be renewed is used on before that is tried again. */
const RENEWAL_PAUSE_MS = 10_000;

/**
 * Calls of OpenStack's network service under a token that is renewed before it expires. A token that is refused all the
 * same (401: revoked, or Keystone's keys were rotated) is renewed and the call made again, once.
 */
export class OpenStackSession {
  readonly #cloud: Cloud;
  readonly #http: Pick<OpenStackHttp, 'send' | 'close'>;
  readonly #clock: Clock;
  #token: Held | undefined;
  #fetching: Promise<Held> | undefined;
  #noRenewalBefore = Number.NEGATIVE_INFINITY;

  constructor({ cloud, http, clock }: OpenStackSessionOptions) {
    this.#cloud = cloud;
    this.#http = http;
    this.#clock = clock;
  }

  /**
   * Resolves with the answer to a success.
   * @throws OpenStackError for any other; what OpenStackHttp and fetchToken throw.
   */
  async request(method: HttpMethod, request: NetworkRequest): Promise<HttpAnswer> {
    const { keystone } = this.#cloud;
    if (!keystone) return succeeded(method, request, await this.#send(method, request, undefined));
    const token = await this.#usable(keystone, request.signal);
    const answer = await this.#send(method, request, token);
    if (answer.status !== 401) return succeeded(method, request, answer);
    // Others may have found out as well, and fetched a new one already.
    if (this.#token === token) this.#token = undefined;
    const fresh = await this.#usable(keystone, request.signal);
    return succeeded(method, request, await this.#send(method, request, fresh));
  }

  close(): Promise<void> {
    return this.#http.close();
  }

  async #usable(keystone: Keystone, signal: AbortSignal): Promise<Held> {
    const now = this.#clock.now();
    const held = this.#token;
    if (held && (now < held.renewAt || (now < this.#noRenewalBefore && now < held.expiresAt))) return held;
    try {
      return await abortable(this.#fetch(keystone), signal);
    } catch (error) {
      // Keystone may be down for the moment: the one that is there serves to its end.
      if (signal.aborted || !held || this.#token !== held || this.#clock.now() >= held.expiresAt) throw error;
      this.#noRenewalBefore = this.#clock.now() + RENEWAL_PAUSE_MS;
      return held;
    }
  }

  /** One at a time, for all who wait; none of them can take it from the others, its time is bounded. */
  #fetch(keystone: Keystone): Promise<Held> {
    this.#fetching ??= this.#fetchNow(keystone).finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  async #fetchNow(keystone: Keystone): Promise<Held> {
    const asked = this.#clock.now();
    const token = await fetchToken(this.#http, this.#cloud, keystone, new AbortController().signal);
    const expiresAt = asked + token.lifetimeMs;
    const renewAt = expiresAt - Math.min(token.lifetimeMs * RENEWED_SHARE, RENEWED_AT_MOST_MS);
    this.#token = { ...token, renewAt, expiresAt };
    return this.#token;
  }

  #send(method: HttpMethod, request: NetworkRequest, token: Held | undefined): Promise<HttpAnswer> {
    const url = urlOf(token?.endpoint ?? this.#cloud.endpoint, request);
    const headers = { ...(token && { 'x-auth-token': token.value }), ...request.headers };
    const { body, signal } = request;
    return this.#http.send({ method, url, headers, body, signal });
  }
}

function succeeded(method: HttpMethod, { path }: NetworkRequest, answer: HttpAnswer): HttpAnswer {
  if (answer.status >= 200 && answer.status <= 299) return answer;
  throw openStackErrorFrom(`Neutron, ${method} ${path}`, answer.status, answer.body);
}

function urlOf(endpoint: URL | undefined, { path, query = {} }: NetworkRequest): URL {
  if (!endpoint) throw new Error('expected a cloud with an endpoint or a Keystone');
  const base = endpoint.href.replace(/\/$/, '');
  const url = new URL(`${/\/v2(\.0)?$/.test(base) ? base : `${base}/v2.0`}${path}`);
  for (const [name, values] of Object.entries(query)) {
    for (const value of [values].flat()) url.searchParams.append(name, value);
  }
  return url;
}
