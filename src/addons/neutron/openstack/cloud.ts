import { X509Certificate } from 'node:crypto';
import { load } from 'js-yaml';
import { TransportError } from '../../../kube/api/api-error.ts';
import { isObject, type JsonValue, own, ownString } from '../../../util/json.ts';
import { NotConfiguredError } from './error.ts';

/** The address and the credentials of one OpenStack. */
export interface Cloud {
  readonly name: string;
  /** Undefined if the service needs no token (`auth_type: none`). */
  readonly keystone: Keystone | undefined;
  /** The network service's address; undefined to look it up in Keystone's catalog. */
  readonly endpoint: URL | undefined;
  readonly region: string | undefined;
  readonly interface: 'public' | 'internal' | 'admin';
  /** Authorities to trust, PEM. */
  readonly ca: string | undefined;
}

export interface Keystone {
  /** With its version: `https://keystone.example.org:5000/v3`. */
  readonly url: URL;
  /** An application credential. */
  readonly credential: { readonly id: string; readonly secret: string };
}

/** The file name in OpenStack's tools and in Horizon's download. */
export const CLOUDS_KEY = 'clouds.yaml';
const PREFERRED = 'openstack';

/**
 * Reads a clouds.yaml (openstacksdk's format, which Horizon offers for an application credential): its only cloud, or
 * the one named `openstack`. `cacert` is the other key of the Secret.
 * @throws NotConfiguredError, whose message contains no value of the file.
 */
export function parseClouds(text: string, cacert: string | undefined): Cloud {
  const clouds = own(parseYaml(text), 'clouds');
  if (!isObject(clouds)) throw unusable('expected a mapping `clouds`');
  const names = Object.keys(clouds);
  const name = names.length === 1 ? names[0] : names.find((n) => n === PREFERRED);
  if (name === undefined) {
    throw unusable(`expected one cloud, or one named ${PREFERRED}, got ${names.join(', ') || 'none'}`);
  }
  const cloud = own(clouds, name);
  if (own(cloud, 'verify') === false) {
    throw unusable(`verify: false is not supported: drop it, and set the Secret's ${CA_KEY}`);
  }
  return {
    name,
    ...access(cloud),
    region: ownString(cloud, 'region_name'),
    interface: interfaceOf(ownString(cloud, 'interface')),
    ca: authoritiesOf(cacert, ownString(cloud, CA_KEY)),
  };
}

function access(cloud: JsonValue | undefined): Pick<Cloud, 'keystone' | 'endpoint'> {
  const auth = own(cloud, 'auth');
  const override = ownString(cloud, 'network_endpoint_override');
  const given = override ?? ownString(auth, 'endpoint');
  const field = override === undefined ? 'auth.endpoint' : 'network_endpoint_override';
  const endpoint = given === undefined ? undefined : httpUrl(given, field, NEUTRON_URL);
  if (ownString(cloud, 'auth_type') === 'none') {
    if (!endpoint) throw unusable("auth_type none needs auth.endpoint: set it to Neutron's address");
    return { keystone: undefined, endpoint };
  }
  const [id, secret, authUrl] = [
    'application_credential_id',
    'application_credential_secret',
    'auth_url',
  ].map((key) => ownString(auth, key));
  if (id === undefined || secret === undefined || authUrl === undefined) {
    throw unusable(
      'expected auth.auth_url, auth.application_credential_id and auth.application_credential_secret ' +
        '(`openstack application credential create`; passwords are not supported)',
    );
  }
  const url = httpUrl(authUrl, 'auth.auth_url', 'https://keystone.example.org:5000/v3');
  if (!/\/v3\/?$/.test(url.pathname)) url.pathname = `${url.pathname.replace(/\/$/, '')}/v3`;
  return { keystone: { url, credential: { id, secret } }, endpoint };
}

function interfaceOf(value: string | undefined): Cloud['interface'] {
  // Older names in the catalog end in URL.
  const name = value?.replace(/URL$/, '');
  if (name === undefined || name === 'public') return 'public';
  if (name === 'internal' || name === 'admin') return name;
  throw unusable('expected interface to be public, internal or admin');
}

export const NEUTRON_URL = 'https://neutron.example.org:9696';

/** Parses the address of a service; `what` names it in the error, beside an example, and `where` the source. */
export function httpUrl(text: string, what: string, example: string, where = CLOUDS_KEY): URL {
  const url = URL.parse(text);
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') {
    throw unusable(`${what} must be a URL such as ${example}`, where);
  }
  return url;
}

function parseYaml(text: string): JsonValue | undefined {
  try {
    return load(text) as JsonValue | undefined;
  } catch {
    // Without the parser's error, also as the cause: it quotes lines of the file.
    throw unusable('it is not YAML');
  }
}

function unusable(problem: string, where = CLOUDS_KEY): NotConfiguredError {
  return new NotConfiguredError(`${where} is invalid: ${problem}`);
}

/** The key of CA certificates in the Secret, and in a cloud of clouds.yaml. */
export const CA_KEY = 'cacert';
const WHAT_TO_DO = 'put the CA certificate (PEM, -----BEGIN CERTIFICATE-----) into key cacert of the Secret';
/** OpenSSL's codes for a server certificate without a trusted authority. */
const UNTRUSTED: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_SIGNATURE_FAILURE',
]);
const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * The authorities to trust, in PEM: those of the Secret, else those in clouds.yaml; undefined without any. A path in
 * clouds.yaml, which OpenStack's own tools accept, belongs to the user's machine.
 * @throws NotConfiguredError for invalid certificates, which Node would ignore.
 */
export function authoritiesOf(beside: string | undefined, inside: string | undefined): string | undefined {
  const pem = beside ?? inside;
  if (pem === undefined) return undefined;
  const certificates = pem.match(PEM_CERTIFICATE) ?? [];
  if (certificates.length > 0 && certificates.every(isReadable)) return pem;
  const where = beside === undefined ? 'cacert in clouds.yaml' : 'key cacert';
  throw new NotConfiguredError(`${where} is invalid: expected PEM certificates; ${WHAT_TO_DO}`);
}

/** Replaces Node's message for an untrusted server by one that says what to do. Returns other errors as they are. */
export function explained(error: unknown, what: string): unknown {
  if (!(error instanceof TransportError) || !UNTRUSTED.has(error.code)) return error;
  const message = `${what}: the server's certificate is not from a trusted CA (${error.code}): ${WHAT_TO_DO}`;
  return new TransportError(message, error.code, error);
}

function isReadable(pem: string): boolean {
  try {
    return new X509Certificate(pem).serialNumber !== '';
  } catch {
    return false;
  }
}
