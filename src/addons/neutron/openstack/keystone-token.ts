import { type JsonValue, own, ownObjects, ownString } from '../../../util/json.ts';
import { type Cloud, httpUrl, type Keystone } from './openstack-cloud.ts';
import { NotConfiguredError, openStackErrorFrom, UnusableAnswerError } from './openstack-error.ts';
import type { OpenStackHttp } from './openstack-http.ts';

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
