import { describe, expect, test } from '@jest/globals';
import { parseClouds } from '../../../../../src/addons/neutron/openstack/cloud.ts';

/** The format of Horizon's download for an application credential. */
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
  test('may have the format of Horizon', () => {
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

  test('has one cloud of any name, or one named openstack', () => {
    expect(parseClouds(cloud({ auth }, 'mine'), undefined).name).toBe('mine');
    const two = JSON.stringify({ clouds: { mine: {}, openstack: { auth } } });
    expect(parseClouds(two, undefined).name).toBe('openstack');
  });

  test('may be of a Neutron without authentication', () => {
    const { keystone, endpoint } = parseClouds(
      cloud({ auth_type: 'none', auth: { endpoint: 'http://127.0.0.1:9696' } }),
      undefined,
    );
    expect(keystone).toBeUndefined();
    expect(endpoint?.href).toBe('http://127.0.0.1:9696/');
  });

  test.each<[string, string, RegExp]>([
    ['is not YAML', 'a: [', /expected YAML/],
    ['has no cloud', 'a: 1', /a mapping `clouds`/],
    ['has several clouds', '{"clouds":{"a":{},"b":{}}}', /one cloud, or one named openstack, got a, b/],
    [
      'has a password',
      cloud({ auth: { auth_url: 'https://k', password: 'hush' } }),
      /passwords are not supp/,
    ],
    ['has no URL', cloud({ auth: { ...auth, auth_url: 'keystone:5000' } }), /auth.auth_url to be a URL/],
    ['disables verification', cloud({ auth, verify: false }), /put the authority's certificate into key/],
    ['has an unknown interface', cloud({ auth, interface: 'secret' }), /public, internal or admin/],
    ['has no address', cloud({ auth_type: 'none' }), /needs auth.endpoint/],
  ])('that %s is refused, and the message says what to write', (_, text, message) => {
    expect(() => parseClouds(text, undefined)).toThrow(message);
  });

  test('with an invalid certificate is refused, and the message says where to put one', () => {
    const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
    const messageFor = (where: string) =>
      `${where} is invalid: expected certificates, not a path: put the authority's certificate`;
    for (const none of ['', 'rubbish', broken]) {
      expect(() => parseClouds(cloud({ auth }), none)).toThrow(messageFor('key cacert'));
    }
    const path = cloud({ auth, cacert: '/etc/ssl/ca.pem' });
    expect(() => parseClouds(path, undefined)).toThrow(messageFor('cacert in clouds.yaml'));
  });

  test.each([
    'application_credential_secret: hush\n  : [',
    cloud({ auth: { ...auth, auth_url: 'hush', application_credential_secret: 'hush' } }),
    cloud({ auth: { application_credential_secret: 'hush', password: 'hush' } }),
  ])('never shows its secret in a message', (text) => {
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
