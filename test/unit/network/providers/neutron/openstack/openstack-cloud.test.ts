import { describe, expect, test } from '@jest/globals';
import { parseClouds } from '../../../../../../src/network/providers/neutron/openstack/openstack-cloud.ts';

/** As Horizon offers it for an application credential. */
const DOWNLOADED = `
# This is a clouds.yaml file, which can be used by OpenStack tools as a source
clouds:
  openstack:
    auth:
      auth_url: https://keystone.example.org:5000
      application_credential_id: "the-id"
      application_credential_secret: "the-secret"
    region_name: "RegionOne"
    interface: "public"
    identity_api_version: 3
    auth_type: "v3applicationcredential"
`;

const cloud = (fields: object, name = 'openstack') => JSON.stringify({ clouds: { [name]: fields } });
const auth = {
  auth_url: 'https://k.example.org/identity/v3',
  application_credential_id: 'the-id',
  application_credential_secret: 'the-secret',
};

describe('a clouds.yaml', () => {
  test('is read as Horizon offers it', () => {
    const { keystone, ...rest } = parseClouds(DOWNLOADED, undefined);
    expect(keystone?.url.href).toBe('https://keystone.example.org:5000/v3');
    expect(keystone?.credential).toEqual({ id: 'the-id', secret: 'the-secret' });
    expect(rest).toEqual({
      name: 'openstack',
      region: 'RegionOne',
      interface: 'public',
      endpoint: undefined,
      ca: undefined,
    });
  });

  test('may have any name for its only cloud, and else has one named openstack', () => {
    expect(parseClouds(cloud({ auth }, 'mine'), undefined).name).toBe('mine');
    const two = JSON.stringify({ clouds: { mine: {}, openstack: { auth } } });
    expect(parseClouds(two, undefined).name).toBe('openstack');
  });

  test('may name the credential by its user', () => {
    const { application_credential_id: _, ...named } = {
      ...auth,
      application_credential_name: 'operator',
      username: 'demo',
      user_domain_name: 'Default',
    };
    expect(parseClouds(cloud({ auth: named }), undefined).keystone?.credential).toEqual({
      name: 'operator',
      secret: 'the-secret',
      user: { name: 'demo', domain: { name: 'Default' } },
    });
  });

  test('may be of a Neutron that asks nobody who he is', () => {
    const { keystone, endpoint } = parseClouds(
      cloud({ auth_type: 'none', auth: { endpoint: 'http://127.0.0.1:9696' } }),
      undefined,
    );
    expect(keystone).toBeUndefined();
    expect(endpoint?.href).toBe('http://127.0.0.1:9696/');
  });

  test.each<[string, string, RegExp]>([
    ['is not YAML', 'a: [', /expected YAML/],
    ['has none', 'a: 1', /a mapping `clouds`/],
    ['has several clouds', '{"clouds":{"a":{},"b":{}}}', /one cloud, or one named openstack, got a, b/],
    [
      'has a password',
      cloud({ auth: { auth_url: 'https://k', password: 'hush' } }),
      /passwords are not supp/,
    ],
    ['has no URL', cloud({ auth: { ...auth, auth_url: 'keystone:5000' } }), /auth.auth_url to be a URL/],
    ['trusts everybody', cloud({ auth, verify: false }), /put the authority's certificate into key cacert/],
    ['has an interface of its own', cloud({ auth, interface: 'secret' }), /public, internal or admin/],
    ['needs an address', cloud({ auth_type: 'none' }), /needs auth.endpoint/],
  ])('that %s is refused with what to write', (_, text, message) => {
    expect(() => parseClouds(text, undefined)).toThrow(message);
  });

  test('is told of a certificate that is none, and of where to put it', () => {
    const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
    const told = (where: string) =>
      `${where} is invalid: expected certificates and no path: put the authority's certificate`;
    for (const none of ['', 'rubbish', broken]) {
      expect(() => parseClouds(cloud({ auth }), none)).toThrow(told('key cacert'));
    }
    const path = cloud({ auth, cacert: '/etc/ssl/ca.pem' });
    expect(() => parseClouds(path, undefined)).toThrow(told('cacert in clouds.yaml'));
  });

  test.each([
    'application_credential_secret: hush\n  : [',
    cloud({ auth: { ...auth, auth_url: 'hush', application_credential_secret: 'hush' } }),
    cloud({ auth: { application_credential_secret: 'hush', password: 'hush' } }),
  ])('never has its secret in a message', (text) => {
    const refusal = (() => {
      try {
        return parseClouds(text, undefined);
      } catch (error) {
        return error;
      }
    })();
    expect(refusal).toBeInstanceOf(Error);
    expect(`${refusal} ${(refusal as Error).cause}`).not.toContain('hush');
  });
});
