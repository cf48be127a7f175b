import { load } from 'js-yaml';
import { isObject, type JsonObject, type JsonValue, own, ownString } from '../../../../json/json.ts';
import { authoritiesOf, CA_KEY } from './openstack-authorities.ts';
import { NotConfiguredError } from './openstack-error.ts';

/** How one OpenStack is reached, and as whom. */
export interface Cloud {
  readonly name: string;
  /** Undefined: the service asks for no token (`auth_type: none`). */
  readonly keystone: Keystone | undefined;
  /** The network service's address, where it is not to be looked up in Keystone's catalog. */
  readonly endpoint: URL | undefined;
  readonly region: string | undefined;
  readonly interface: 'public' | 'internal' | 'admin';
  /** Authorities to trust, PEM. */
  readonly ca: string | undefined;
}

export interface Keystone {
  /** With its version: `https://keystone.example.org:5000/v3`. */
  readonly url: URL;
  readonly credential: ApplicationCredential;
}

/** As Keystone's API takes it: by its id, or by its name and user. */
export type ApplicationCredential = {
  readonly secret: string;
} & ({ readonly id: string } | { readonly name: string; readonly user: JsonObject });

/** The file name that OpenStack's own tools give it, and Horizon the download. */
export const CLOUDS_KEY = 'clouds.yaml';
const PREFERRED = 'openstack';

/**
 * Reads a clouds.yaml (openstacksdk's format, as Horizon offers it for an application credential): its only cloud, or
 * the one named `openstack`. `cacert` is what the Secret has beside it.
 * @throws NotConfiguredError, whose message quotes no value of the file.
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
    throw unusable(`verify: false is not supported: put the authority's certificate into key ${CA_KEY}`);
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
  const given = ownString(cloud, 'network_endpoint_override') ?? ownString(auth, 'endpoint');
  const endpoint = given === undefined ? undefined : httpUrl(given, 'the endpoint');
  if (ownString(cloud, 'auth_type') === 'none') {
    if (!endpoint) throw unusable('auth_type none needs auth.endpoint, the address of Neutron');
    return { keystone: undefined, endpoint };
  }
  const secret = ownString(auth, 'application_credential_secret');
  const authUrl = ownString(auth, 'auth_url');
  if (secret === undefined || authUrl === undefined) {
    throw unusable(
      'expected auth.auth_url, auth.application_credential_id and auth.application_credential_secret ' +
        '(`openstack application credential create`; passwords are not supported)',
    );
  }
  const url = httpUrl(authUrl, 'auth.auth_url');
  if (!/\/v3\/?$/.test(url.pathname)) url.pathname = `${url.pathname.replace(/\/$/, '')}/v3`;
  return { keystone: { url, credential: credentialOf(auth, secret) }, endpoint };
}

function credentialOf(auth: JsonValue | undefined, secret: string): ApplicationCredential {
  const id = ownString(auth, 'application_credential_id');
  if (id !== undefined) return { id, secret };
  const name = ownString(auth, 'application_credential_name');
  const user = userOf(auth);
  if (name === undefined || user === undefined) {
    throw unusable(
      'expected auth.application_credential_id, or auth.application_credential_name with the user it is of',
    );
  }
  return { name, secret, user };
}

function userOf(auth: JsonValue | undefined): JsonObject | undefined {
  const id = ownString(auth, 'user_id');
  if (id !== undefined) return { id };
  const name = ownString(auth, 'username');
  const domainId = ownString(auth, 'user_domain_id');
  const domainName = ownString(auth, 'user_domain_name');
  if (name === undefined || (domainId ?? domainName) === undefined) return undefined;
  return { name, domain: domainId === undefined ? { name: domainName ?? '' } : { id: domainId } };
}

function interfaceOf(value: string | undefined): Cloud['interface'] {
  // The catalog's older names end in URL.
  const name = value?.replace(/URL$/, '');
  if (name === undefined || name === 'public') return 'public';
  if (name === 'internal' || name === 'admin') return name;
  throw unusable('expected interface to be public, internal or admin');
}

/** Reads the address of a service; `what` names it in the error. */
export function httpUrl(text: string, what: string): URL {
  const url = URL.parse(text);
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') {
    throw unusable(`expected ${what} to be a URL such as https://keystone.example.org:5000/v3`);
  }
  return url;
}

function parseYaml(text: string): JsonValue | undefined {
  try {
    return load(text) as JsonValue | undefined;
  } catch {
    // Without the parser's own words and as the cause: they quote lines of the file.
    throw unusable('it is no YAML');
  }
}

function unusable(problem: string): NotConfiguredError {
  return new NotConfiguredError(`${CLOUDS_KEY} cannot be used: ${problem}`);
}
