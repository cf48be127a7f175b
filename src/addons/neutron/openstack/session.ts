import { abortable } from '../../../kube/util/linked-abort.ts';
import type { Clock } from '../../../kube/workqueue/clock.ts';
import { type JsonValue, own, ownObjects, ownString } from '../../../util/json.ts';
import { type Cloud, httpUrl, type Keystone } from './cloud.ts';
import { NotConfiguredError, openStackErrorFrom, UnusableAnswerError } from './error.ts';
import type { HttpAnswer, HttpMethod, OpenStackHttp } from './http.ts';

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
  /** The time from which a new token is fetched, although this one is still valid. */
  readonly renewAt: number;
  readonly expiresAt: number;
}

/** A token is renewed when this share of its lifetime is left, but at most five minutes. */
const RENEWED_SHARE = 0.2;
const RENEWED_AT_MOST_MS = 5 * 60_000;
/** The retry interval of a failed renewal. The old token stays in use. */
const RENEWAL_PAUSE_MS = 10_000;

/**
 * Calls OpenStack's network service with a token that is renewed before it expires. After a 401 (token revoked, or
 * Keystone's keys rotated), it gets a new token and retries the call once.
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
   * Resolves with a successful answer.
   * @throws OpenStackError for any other answer; errors of OpenStackHttp and fetchToken.
   */
  async request(method: HttpMethod, request: NetworkRequest): Promise<HttpAnswer> {
    const { keystone } = this.#cloud;
    if (!keystone) return succeeded(method, request, await this.#send(method, request, undefined));
    const token = await this.#usable(keystone, request.signal);
    const answer = await this.#send(method, request, token);
    if (answer.status !== 401) return succeeded(method, request, answer);
    // Another call may have already fetched a new token.
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
      // Keystone may be down: the old token stays in use until it expires.
      if (signal.aborted || !held || this.#token !== held || this.#clock.now() >= held.expiresAt) throw error;
      this.#noRenewalBefore = this.#clock.now() + RENEWAL_PAUSE_MS;
      return held;
    }
  }

  /** Fetches one token for all waiters. It has its own timeout, so no waiter's signal may end it. */
  #fetch(keystone: Keystone): Promise<Held> {
    this.#fetching ??= this.#fetchNow(keystone).finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  async #fetchNow(keystone: Keystone): Promise<Held> {
    const requestedAt = this.#clock.now();
    const token = await fetchToken(this.#http, this.#cloud, keystone, new AbortController().signal);
    const expiresAt = requestedAt + token.lifetimeMs;
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

/** A token of Keystone. */
export interface Token {
  readonly value: string;
  /** Milliseconds from issue to expiry by Keystone's clock, so that the local clock does not matter. */
  readonly lifetimeMs: number;
  /** The URL of the network service in Keystone's catalog. */
  readonly endpoint: URL;
}

const NETWORK_SERVICE = 'network';

/**
 * Exchanges the application credential for a token (Identity API v3, POST /auth/tokens).
 * @throws NotConfiguredError if Keystone refuses the credential, or its catalog has no matching network service;
 * OpenStackError.
 */
export async function fetchToken(
  http: Pick<OpenStackHttp, 'send'>,
  cloud: Cloud,
  { url, credential }: Keystone,
  signal: AbortSignal,
): Promise<Token> {
  const target = new URL(`${url.href.replace(/\/$/, '')}/auth/tokens`);
  const identity = { methods: ['application_credential'], application_credential: credential };
  const { status, header, body } = await http.send({
    method: 'POST',
    url: target,
    body: { auth: { identity } },
    signal,
  });
  if (status !== 201) throw refusalOf(target, status, body);
  const token = own(body as JsonValue | undefined, 'token');
  const value = header('x-subject-token');
  const lifetimeMs = Date.parse(ownString(token, 'expires_at') ?? '') - issuedAt(token);
  if (!value || !(lifetimeMs > 0)) {
    throw new UnusableAnswerError(`POST ${target.href}: expected a token with its times, got none`);
  }
  return { value, lifetimeMs, endpoint: cloud.endpoint ?? endpointIn(token, cloud) };
}

/** A 404 means that the credential does not exist. It must not look like a deleted network. */
function refusalOf(target: URL, status: number, body: unknown): Error {
  const isOurs = status >= 400 && status < 500;
  const what = `Keystone, POST ${target.href}${isOurs ? ', refuses the application credential' : ''}`;
  const error = openStackErrorFrom(what, status, body);
  return isOurs ? new NotConfiguredError(error.message) : error;
}

function issuedAt(token: JsonValue | undefined): number {
  return Date.parse(ownString(token, 'issued_at') ?? '');
}

function endpointIn(token: JsonValue | undefined, cloud: Cloud): URL {
  const services = ownObjects(token, 'catalog').filter((s) => ownString(s, 'type') === NETWORK_SERVICE);
  const endpoints = services
    .flatMap((service) => ownObjects(service, 'endpoints'))
    .filter((endpoint) => ownString(endpoint, 'interface') === cloud.interface);
  const regionOf = (endpoint: JsonValue) => ownString(endpoint, 'region_id') ?? ownString(endpoint, 'region');
  const regions = [...new Set(endpoints.map(regionOf))];
  const fitting = endpoints.filter((e) => cloud.region === undefined || regionOf(e) === cloud.region);
  const [endpoint] = fitting;
  if (!endpoint) {
    const where = cloud.region === undefined ? '' : ` in region ${cloud.region}`;
    const known = `regions with one: ${regions.join(', ') || 'none'}`;
    throw new NotConfiguredError(
      `Keystone's catalog has no ${cloud.interface} endpoint of the network service${where} (${known})`,
    );
  }
  if (cloud.region === undefined && regions.length > 1) {
    throw new NotConfiguredError(
      `Keystone's catalog has the network service in ${regions.join(', ')}: write region_name into clouds.yaml`,
    );
  }
  return httpUrl(ownString(endpoint, 'url') ?? '', "the catalog's endpoint of the network service");
}
