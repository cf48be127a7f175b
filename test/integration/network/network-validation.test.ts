import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { NETWORKS } from '../../../src/networks/api/resources.ts';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { startControlPlane } from '../../env/control-plane/start.ts';
import { eventually } from '../../env/eventually.ts';
import { must } from '../../env/operator.ts';
import { networkOf } from '../../support/network/network-world.ts';
import { type ApiAccess, connect } from '../../support/operator/api-access.ts';

/** The CRD alone: no operator says anything. */
let controlPlane: ControlPlane;
let api: ApiAccess;

beforeAll(async () => {
  controlPlane = await startControlPlane();
  await must(controlPlane, ['apply', '-f', join(projectDirectory(), 'crd/networks.yaml')]);
  await must(controlPlane, ['wait', '--for=condition=Established', 'crd', '--all']);
  api = connect(controlPlane.kubeconfigPath);
}, 600_000);

afterAll(async () => {
  await api?.close();
  await controlPlane?.stop();
});

interface Given {
  readonly name?: string;
  readonly cidr: string;
  readonly gateway: string;
  readonly [field: string]: unknown;
}

/** Asks the API server why it would refuse the Network; empty if it takes it. Older ones print the type of what a rule refuses. */
async function refusal(given: Given): Promise<string> {
  const message = await dryRun(given).then(() => '', String);
  return message.replaceAll(/Invalid value: "(object|array)": /g, 'Invalid value: ');
}

/** Asks the API server whether it would take the Network. */
function dryRun({ name = 'asked', ...spec }: Given): Promise<unknown> {
  const type = { apiVersion: 'samplecrd.k8s.io/v1', kind: 'Network' };
  const object = { ...type, metadata: { name, namespace: 'default' }, spec };
  return api.client.create(NETWORKS, object, { dryRun: true });
}

const V4 = { cidr: '10.0.0.0/8', gateway: '10.0.0.1' };
const V6 = { cidr: 'fd00:1::/64', gateway: 'fd00:1::1' };

// biome-ignore format: a line for each case
test.each<[string, Given]>([
  ['the one of the demo', { cidr: '192.168.0.0/16', gateway: '192.168.0.1' }],
  ['the smallest of IPv4', { cidr: '10.0.0.0/30', gateway: '10.0.0.2' }],
  ['the smallest of IPv6', { cidr: 'fd00:1::/126', gateway: 'fd00:1::3' }],
  ['an IPv6 range', { cidr: 'fd00:1::/64', gateway: 'fd00:1::1', mtu: 1280 }],
  ['a gateway that ends in 255', { cidr: '10.0.0.0/8', gateway: '10.0.0.255' }],
  ['a gateway that ends in 0', { cidr: '10.0.0.0/8', gateway: '10.1.0.0' }],
  ['a range beside loopback', { cidr: '126.0.0.0/8', gateway: '126.0.0.1' }],
  ['a name of 63 characters', { name: 'a'.repeat(63), cidr: '10.0.0.0/8', gateway: '10.0.0.1' }],
  ['every field', { ...V4, provider: 'multus', mtu: 68, deletionPolicy: 'Retain' }],
  ['both families, and excluded ranges', { ...V4, mtu: 1280, secondary: V6, exclude: ['10.0.1.0/24', 'fd00:1::7/128'] }],
])('the API server takes a Network: %s', async (_, given) => {
  await expect(dryRun(given)).resolves.toMatchObject({ spec: { cidr: given.cidr } });
});

const range = 'spec.cidr: Invalid value: must be an IPv4 or IPv6 range: write one such as';
const address = 'spec.gateway: Invalid value: must be an IPv4 or IPv6 address: write one such as';
const hostBits = 'spec.cidr: Invalid value: must not have host bits set: write the network address';
const canonicalCidr = 'spec.cidr: Invalid value: must be in canonical form: write for example';
const canonicalGateway = 'spec.gateway: Invalid value: must be in canonical form: write for example';
const tooSmall = 'spec.cidr: Invalid value: leaves no address for a pod: use a /30 or larger';
const unusable = 'spec.cidr: Invalid value: must not overlap 0.0.0.0/8, loopback';
const outside = 'spec.gateway: Invalid value: must be inside spec.cidr: write an address of that range';
const network = 'spec.gateway: Invalid value: must not be the network address: write another';
const exclusion = 'spec.exclude: Invalid value: must not have host bits set: write';
const broadcast = 'spec.gateway: Invalid value: must not be the broadcast address: write another';

test.each<[string, string, string]>([
  ['banana', '10.0.0.1', range],
  ['10.0.0.0', '10.0.0.1', range],
  ['10.0.0.0/33', '10.0.0.1', range],
  ['010.0.0.0/16', '10.0.0.1', range],
  ['10.0.0/16', '10.0.0.1', range],
  ['::ffff:10.0.0.0/120', 'fd00::1', range],
  ['10.0.0.0/16', 'banana', address],
  ['10.0.0.0/16', '10.0.0.01', address],
  ['fd00::/64', 'fd00::1%eth0', address],
  ['10.0.0.5/16', '10.0.0.1', hostBits],
  ['fd00::1/64', 'fd00::2', hostBits],
  ['FD00:1::/64', 'fd00:1::1', canonicalCidr],
  ['fd00:1:0::/64', 'fd00:1::1', canonicalCidr],
  ['fd00:1::/64', 'FD00:1::1', canonicalGateway],
  ['10.0.0.0/31', '10.0.0.1', tooSmall],
  ['10.0.0.1/32', '10.0.0.1', tooSmall],
  ['fd00::/127', 'fd00::1', tooSmall],
  ['0.0.0.0/0', '10.0.0.1', unusable],
  ['::/0', 'fd00::1', unusable],
  ['0.0.0.0/8', '0.0.0.1', unusable],
  ['240.0.0.0/8', '240.0.0.1', unusable],
  ['128.0.0.0/1', '128.0.0.1', unusable],
  ['127.0.0.0/24', '127.0.0.1', unusable],
  ['126.0.0.0/7', '126.0.0.1', unusable],
  ['::/64', '::5', unusable],
  ['169.254.0.0/16', '169.254.0.1', unusable],
  ['fe80::/64', 'fe80::1', unusable],
  ['224.0.0.0/8', '224.0.0.1', unusable],
  ['ff02::/64', 'ff02::1', unusable],
  ['10.0.0.0/24', '10.0.1.1', outside],
  ['10.0.0.0/24', 'fd00::1', outside],
  ['fd00::/64', '10.0.0.1', outside],
  ['10.0.0.0/24', '10.0.0.0', network],
  ['fd00:1::/64', 'fd00:1::', network],
  ['10.0.0.0/24', '10.0.0.255', broadcast],
  ['10.0.0.0/9', '10.127.255.255', broadcast],
  ['192.168.0.0/30', '192.168.0.3', broadcast],
])(
  'the API server refuses a Network, and says what to write instead: %s with gateway %s',
  async (cidr, gateway, message) => {
    expect(await refusal({ cidr, gateway })).toContain(message);
  },
);

// biome-ignore format: a line for each case
test.each<[string, Given, string]>([
  ['an MTU too small for IPv6', { cidr: 'fd00::/64', gateway: 'fd00::1', mtu: 1279 }, 'write 1280 or more'],
  ['an MTU too small for IPv4', { ...V4, mtu: 67 }, 'greater than or equal to 68'],
  ['another provider', { ...V4, provider: 'x' }, 'supported values: "multus"'],
  ['a name with dots', { name: 'a.b', cidr: '10.0.0.0/8', gateway: '10.0.0.1' }, 'must be a DNS label: write'],
  ['a name of 64 characters', { name: 'a'.repeat(64), cidr: '10.0.0.0/8', gateway: '10.0.0.1' }, 'must be a DNS label: write'],
  [
    'a second range of the same family',
    { ...V4, secondary: { cidr: '10.1.0.0/16', gateway: '10.1.0.1' } },
    'spec.secondary.cidr: Invalid value: must be of the other family',
  ],
  [
    'a second range with host bits',
    { ...V4, secondary: { cidr: 'fd00:1::1/64', gateway: 'fd00:1::2' } },
    'spec.secondary.cidr: Invalid value: must not have host bits set',
  ],
  [
    'a second gateway outside',
    { ...V4, secondary: { cidr: 'fd00:1::/64', gateway: 'fd00:2::1' } },
    'spec.secondary.gateway: Invalid value: must be inside spec.secondary.cidr',
  ],
  ['an MTU too small for a second range', { ...V4, mtu: 1279, secondary: V6 }, 'spec.mtu: Invalid value: must be at least 1280 if spec.secondary is set'],
  ['an exclusion that is no range', { ...V4, exclude: ['10.0.0.7'] }, 'spec.exclude: Invalid value: must be'],
  ['an exclusion with host bits', { ...V4, exclude: ['10.0.0.7/32', '10.1.7.7/24'] }, exclusion],
  ['an IPv6 exclusion with host bits', { ...V6, exclude: ['fd00:1::7/128', 'fd00:1::7/64'] }, exclusion],
  ...['11.0.0.0/24', '8.0.0.0/6', 'fd00:1::/120'].map((range): [string, Given, string] => [
    `an exclusion outside, ${range}`,
    { ...V4, exclude: ['10.1.0.0/16', range] },
    'spec.exclude: Invalid value: must be inside spec.cidr or spec.secondary.cidr',
  ]),
])('the API server refuses a Network, and says what to write instead: %s', async (_, given, message) => {
  expect(await refusal(given)).toContain(message);
});

test('the API server refuses a Network without a gateway, and says what to write instead', async () => {
  const given = { cidr: '10.0.0.0/8', gateway: undefined } as unknown as Given;
  expect(await refusal(given)).toContain('spec.gateway: Required value');
});

test.each([
  ['from none to one', {}, 'multus'],
  ['to another', { provider: 'multus' }, 'neutron'],
])('the API server refuses a change of a Network’s provider, %s', async (_, spec, provider) => {
  const apply = (more: object) =>
    must(controlPlane, ['apply', '-f', '-'], JSON.stringify(networkOf('set', '10.0.0.0/16', more)));
  await apply(spec);
  await expect(apply({ provider })).rejects.toThrow('cannot change');
  await apply({ ...spec, gateway: '10.0.0.2' });
  await must(controlPlane, ['delete', 'network', 'set']);
});

test('a Network of an earlier release that excludes a range with host bits takes other changes', async () => {
  const exclude = ['10.0.7.7/24'];
  const apply = (more: object) =>
    must(controlPlane, ['apply', '-f', '-'], JSON.stringify(networkOf('old', '10.0.0.0/16', more)));
  const patch =
    '[{"op":"remove","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/exclude/x-kubernetes-validations"}]';
  await must(controlPlane, ['patch', 'crd', 'networks.samplecrd.k8s.io', '--type=json', '-p', patch]);
  await eventually('the rule is gone', async () => (await refusal({ ...V4, exclude })) === '');
  await apply({ exclude });
  await must(controlPlane, ['replace', '-f', join(projectDirectory(), 'crd/networks.yaml')]);
  await eventually('the rule is back', async () => (await refusal({ ...V4, exclude })) !== '');
  await apply({ exclude, mtu: 1400 });
  await expect(apply({ exclude: [...exclude, '10.0.8.0/24'] })).rejects.toThrow('host bits');
});

test('kubectl get all does not list Networks, so that deleting all deletes none', async () => {
  const { stdout } = await must(controlPlane, ['api-resources', '--categories=all', '-o', 'name']);
  expect(stdout).not.toContain('networks.samplecrd');
});
