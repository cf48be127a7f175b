import {
  type CertificateAndKey,
  type CertificateRequest,
  createAuthority,
  issueCertificate,
} from '../../../src/certificates/x509/authority.ts';
import type { RunningKeystone } from '../../env/neutron/start.ts';
import type { NeutronLab } from './neutron-lab.ts';
import { OpenStackProxy } from './openstack-proxy.ts';

const HOUR_MS = 3_600_000;
/** Where the catalog has Neutron's address by TLS. */
const REGION = 'tls';

export const hours = (from: number, to: number) => ({
  notBefore: new Date(Date.now() + from * HOUR_MS),
  notAfter: new Date(Date.now() + to * HOUR_MS),
});

export const anAuthority = () => createAuthority({ commonName: 'corporate', ...hours(-1, 1) });

/** Proxies that end TLS before a real Keystone and a real Neutron, as a cloud's load balancers do. */
export class TlsCloud {
  readonly authority: CertificateAndKey;
  readonly #keystone: RunningKeystone;
  readonly #proxies: OpenStackProxy[] = [];

  private constructor(authority: CertificateAndKey, keystone: RunningKeystone) {
    this.authority = authority;
    this.#keystone = keystone;
  }

  /** Names Neutron's proxy in the catalog, and in no other place. */
  static async start({ neutron }: NeutronLab): Promise<TlsCloud> {
    const { keystone, url } = neutron;
    if (!keystone) throw new Error('expected a Keystone');
    const cloud = new TlsCloud(await anAuthority(), keystone);
    await keystone.admin.addRegion(REGION);
    await keystone.admin.addEndpoint('network', (await cloud.#proxyBefore(url)).url, REGION);
    return cloud;
  }

  get neutron(): OpenStackProxy {
    const [proxy] = this.#proxies;
    if (!proxy) throw new Error('expected a cloud that was started');
    return proxy;
  }

  /** Another proxy before Keystone, with a certificate of its own. */
  newKeystone(request?: Partial<CertificateRequest>): Promise<OpenStackProxy> {
    return this.#proxyBefore(new URL(this.#keystone.url).origin, request);
  }

  async close(): Promise<void> {
    for (const proxy of this.#proxies) await proxy.close();
  }

  async #proxyBefore(upstream: string, request: Partial<CertificateRequest> = {}): Promise<OpenStackProxy> {
    const usual = { commonName: 'openstack', usage: 'server', ipAddresses: ['127.0.0.1'] } as const;
    const identity = await issueCertificate(this.authority, { ...usual, ...hours(-1, 1), ...request });
    const proxy = await OpenStackProxy.start(upstream, identity);
    this.#proxies.push(proxy);
    return proxy;
  }
}

/** A clouds.yaml for it. `url` is Keystone's address. */
export function tlsClouds(
  url: string,
  credential: { readonly id: string; readonly secret: string },
  fields: object = {},
): string {
  const auth = {
    auth_url: url,
    application_credential_id: credential.id,
    application_credential_secret: credential.secret,
  };
  return JSON.stringify({ clouds: { openstack: { auth, region_name: REGION, ...fields } } });
}
