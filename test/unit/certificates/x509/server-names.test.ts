import { expect, test } from '@jest/globals';
import { serverNames } from '../../../../src/certificates/x509/server-names.ts';

const service = { service: 'envoy-initializer', namespace: 'mesh' };
const ofService = [
  'envoy-initializer',
  'envoy-initializer.mesh',
  'envoy-initializer.mesh.svc',
  'envoy-initializer.mesh.svc.cluster.local',
];

test.each([
  ['no URL', undefined, [], []],
  ['an IPv4 address', 'https://127.0.0.1:8443/inject', [], ['127.0.0.1']],
  ['an IPv6 address', 'https://[fd00::1]:8443', [], ['fd00::1']],
  ['a host name', 'https://Laptop.example:8443', ['laptop.example'], []],
])('serverNames returns the names of the Service and those of %s', (_, webhookUrl, dnsNames, ipAddresses) => {
  expect(serverNames({ ...service, webhookUrl })).toEqual({
    dnsNames: [...ofService, ...dnsNames],
    ipAddresses,
  });
});

test('serverNames uses another cluster domain', () => {
  const { dnsNames } = serverNames({ ...service, clusterDomain: 'corp.example' });
  expect(dnsNames).toContain('envoy-initializer.mesh.svc.corp.example');
});
