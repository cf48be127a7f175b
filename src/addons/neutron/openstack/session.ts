import { abortable } from '../../../kube/util/waits.ts';
import { type JsonValue, own, ownObjects, ownString } from '../../../util/json.ts';
import { type Cloud, httpUrl, type Keystone, NEUTRON_URL } from './cloud.ts';
import { NotConfiguredError, openStackErrorFrom, UnusableAnswerError } from './error.ts';
import type { HttpAnswer, HttpMethod, HttpRequest, OpenStackHttp } from './http.ts';

export interface NetworkRequest extends Omit<HttpRequest, 'method' | 'url'> {
  /** Below the API's version: `/networks`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | readonly string[]>>;
}

/** A token of Keystone. */
interface Token {
  readonly value: string;
  /** The URL of the network service in Keystone's catalog. */
  readonly endpoint: URL;
}

/** Calls OpenStack's network service. After a 401 (the token has expired), it gets a new token and retries the call once. */
export class OpenStackSession {
  readonly #cloud: Cloud;
  readonly #http: Pick<OpenStackHttp, 'send'>;
  #token: Token | undefined;
  #fetching: Promise<Token> | undefined;

  constructor(cloud: Cloud, http: Pick<OpenStackHttp, 'send'>) {
    this.#cloud = cloud;
    this.#http = http;
  }

  /**
   * Resolves with a successful answer.
   * @throws OpenStackError for any other answer; errors of OpenStackHttp and fetchToken.
   */
  async request(method: HttpMethod, request: NetworkRequest): Promise<HttpAnswer> {
    const { keystone } = this.#cloud;
    const token = keystone && (await this.#usable(keystone, request.signal));
    let answer = await this.#send(method, request, token);
    if (keystone && answer.status === 401) {
      // Another call may have already fetched a new token.
      if (this.#token === token) this.#token = undefined;
      answer = await this.#send(method, request, await this.#usable(keystone, request.signal));
    }
    if (answer.status >= 200 && answer.status <= 299) return answer;
    throw openStackErrorFrom(`Neutron: ${method} ${request.path}`, answer.status, answer.body);
  }

  /** Fetches one token for all waiters. It has its own timeout, so no waiter's signal may end it. */
  async #usable(keystone: Keystone, signal: AbortSignal): Promise<Token> {
    if (this.#token) return this.#token;
    this.#fetching ??= fetchToken(this.#http, this.#cloud, keystone).finally(() => {
      this.#fetching = undefined;
    });
    this.#token = await abortable(this.#fetching, signal);
    return this.#token;
  }

  #send(method: HttpMethod, request: NetworkRequest, token: Token | undefined): Promise<HttpAnswer> {
    const url = urlOf(token?.endpoint ?? this.#cloud.endpoint, request);
    const headers = { ...(token && { 'x-auth-token': token.value }), ...request.headers };
    const { body, signal } = request;
    return this.#http.send({ method, url, headers, body, signal });
  }
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

/**
 * Exchanges the application credential for a token (Identity API v3, POST /auth/tokens).
 * @throws NotConfiguredError if Keystone refuses the credential, or its catalog has no matching network service;
 * OpenStackError.
 */
async function fetchToken(
  http: Pick<OpenStackHttp, 'send'>,
  cloud: Cloud,
  { url, credential }: Keystone,
): Promise<Token> {
  const target = new URL(`${url.href.replace(/\/$/, '')}/auth/tokens`);
  const identity = { methods: ['application_credential'], application_credential: credential };
  const { signal } = new AbortController();
  const request = { method: 'POST', url: target, body: { auth: { identity } }, signal } as const;
  const { status, header, body } = await http.send(request);
  if (status !== 201) {
    // A 404 means that the credential does not exist. It must not look like a deleted network.
    const isOurs = status >= 400 && status < 500;
    const what = `Keystone${isOurs ? ' refuses the application credential' : ''}: POST ${target.href}`;
    const error = openStackErrorFrom(what, status, body);
    throw isOurs ? new NotConfiguredError(error.message) : error;
  }
  const value = header('x-subject-token');
  if (!value) throw new UnusableAnswerError(`POST ${target.href}: expected a token, got none`);
  const token = own(body, 'token');
  return { value, endpoint: cloud.endpoint ?? endpointIn(token, cloud) };
}

function endpointIn(token: JsonValue | undefined, cloud: Cloud): URL {
  const services = ownObjects(token, 'catalog').filter((s) => ownString(s, 'type') === 'network');
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
      `Keystone's catalog has no ${cloud.interface} endpoint for the network service${where} (${known})`,
    );
  }
  if (cloud.region === undefined && regions.length > 1) {
    throw new NotConfiguredError(
      `Keystone's catalog has the network service in several regions (${regions.join(', ')}): set region_name in clouds.yaml to one of them`,
    );
  }
  const what = 'the endpoint for the network service';
  return httpUrl(ownString(endpoint, 'url') ?? '', what, NEUTRON_URL, "Keystone's catalog");
}
