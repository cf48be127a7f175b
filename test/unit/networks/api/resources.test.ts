import { readFileSync } from 'node:fs';
import { describe, expect, jest, test } from '@jest/globals';
import { load } from 'js-yaml';
import { networkMistakes } from '../../../../src/cli/check/check-network.ts';
import { podSites } from '../../../../src/injection/podspec/workload.ts';
import { cachedNetwork } from '../../../../src/networks/api/resources.ts';
import {
  describeSubnet,
  recordedSubnet,
  SUBNET_FIELDS,
  type Subnet,
  sameSubnet,
  subnetChanges,
  subnetOf,
} from '../../../../src/networks/api/subnet.ts';
import type { Network } from '../../../../src/networks/api/types.ts';
import type { JsonObject } from '../../../../src/util/json.ts';
import { newNetwork } from '../networks.ts';

test('cachedNetwork keeps only the fields that the operator reads', () => {
  const { apiVersion, kind, ...network } = newNetwork({
    finalizers: ['example.org/theirs'],
    deletedAt: '2026-01-01T00:00:00Z',
    deletionPolicy: 'Retain',
    status: { cidr: '192.168.0.0/16', vni: 7 },
  });
  const filled = {
    ...{ ...network, apiVersion, kind },
    metadata: {
      ...network.metadata,
      labels: { 'example.org/a': 'x'.repeat(63) },
      annotations: { a: 'x'.repeat(250_000) },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'x'.repeat(10_000), uid: 'u' }],
      managedFields: [{ fieldsV1: { a: 'x'.repeat(300_000) } }],
    },
  } as Network;
  expect(cachedNetwork(filled)).toEqual(network);
});

test('cachedNetwork writes each of thousands of nodes as text once, and keeps equal ones once', () => {
  const nodes = Array.from({ length: 5_000 }, (_, nth) => ({
    name: `node-${nth}`,
    address: `10.0.0.${nth}`,
  }));
  const status = () => structuredClone({ cidr: '192.168.0.0/16', nodes });
  const text = JSON.stringify(status());
  const stringify = jest.spyOn(JSON, 'stringify');
  const [one, other] = [status(), status()].map((each) => cachedNetwork(newNetwork({ status: each })));
  const written = stringify.mock.results.map(({ value }) => String(value).length);
  stringify.mockRestore();
  expect(written.reduce((sum, length) => sum + length)).toBeLessThan(2 * text.length + 10_000);
  expect(one?.status).toEqual(status());
  expect(other?.status?.nodes?.[7]).toBe(one?.status?.nodes?.[7]);
});

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
}
const crd = load(readFileSync('crd/networks.yaml', 'utf8')) as {
  readonly spec: { readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: Schema } }[] };
};
const fieldsOf = (part: string) =>
  Object.keys(crd.spec.versions[0]?.schema.openAPIV3Schema.properties?.[part]?.properties ?? {});

/** Fields of the spec that say how the network is handled, and not what it is. */
const HANDLING = ['exclude', 'provider', 'deletionPolicy'];
const NAMES = Object.keys(SUBNET_FIELDS) as readonly (keyof Subnet)[];

const subnet: Subnet = {
  cidr: '10.0.0.0/16',
  gateway: '10.0.0.1',
  secondary: { cidr: 'fd00::/64', gateway: 'fd00::1' },
  mtu: 1400,
};
const other: Subnet = {
  cidr: '10.1.0.0/16',
  gateway: '10.1.0.1',
  secondary: { cidr: 'fd00:1::/64', gateway: 'fd00:1::1' },
  mtu: 9000,
};
const textOf = (value: Subnet[keyof Subnet]) =>
  typeof value === 'object' ? `${value.cidr}, gateway ${value.gateway}` : `${value}`;

test('the table of fields has every field of the spec of a Network, and the status records each', () => {
  expect([...NAMES, ...HANDLING].sort()).toEqual(fieldsOf('spec').sort());
  expect(fieldsOf('status')).toEqual(expect.arrayContaining([...NAMES]));
});

describe.each(NAMES)('%s', (name) => {
  const changed: Subnet = { ...subnet, [name]: other[name] };

  test(`the field ${name} makes subnets different, and the change names it`, () => {
    expect(sameSubnet(subnet, { ...subnet })).toBe(true);
    expect(sameSubnet(subnet, changed)).toBe(false);
    expect(subnetChanges(subnet, changed)).toBe(`${name} ${textOf(subnet[name])} to ${textOf(other[name])}`);
  });

  test(`the field ${name} is taken from the spec and from the status of a Network, and described`, () => {
    const spec = { ...newNetwork().spec, ...changed };
    expect(subnetOf(spec)[name]).toEqual(other[name]);
    expect(recordedSubnet(newNetwork({ status: changed }))?.[name]).toEqual(other[name]);
    expect(describeSubnet(changed)).toContain(textOf(other[name]));
  });
});

const KEY = 'samplecrd.k8s.io/network';
const ON = { [KEY]: 'blue' };

const mistakes = (object: JsonObject) => [...podSites(object)].flatMap((site) => [...networkMistakes(site)]);
const pod = (metadata: JsonObject): JsonObject => ({ apiVersion: 'v1', kind: 'Pod', metadata, spec: {} });
const deployment = (metadata: JsonObject, template: JsonObject = {}): JsonObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata,
  spec: { template: { metadata: template, spec: {} } },
});

test.each<[string, JsonObject]>([
  ['a pod with the annotation', pod({ annotations: ON, labels: ON })],
  ['a pod without', pod({ labels: { app: 'web' } })],
  ['a pod template with the annotation', deployment({ annotations: ON }, { annotations: ON })],
  ['a pod with the annotation of Multus', pod({ annotations: { 'k8s.v1.cni.cncf.io/networks': 'blue' } })],
  ['a pod with a key of another project', pod({ annotations: { 'example.com/network': 'blue' } })],
])('networkMistakes finds none in %s', (_, object) => {
  expect(mistakes(object)).toEqual([]);
});

test.each<[string, JsonObject, string]>([
  ['the labels of a pod', pod({ labels: ON }), 'labels of the pod, where it has no effect: move it to'],
  ['the labels of a template', deployment({ annotations: ON }, { labels: ON }), 'labels of the pod, where'],
  [
    'the annotations of a workload',
    deployment({ annotations: ON }),
    'annotations of the Deployment itself, ',
  ],
  ['the labels of a workload', deployment({ labels: ON }), 'labels of the Deployment itself, '],
])('networkMistakes finds the annotation in %s', (_, object, expected) => {
  expect(mistakes(object)).toEqual([expect.stringContaining(`${KEY} is in the ${expected}`)]);
});

test.each(['samplecrd.k8s.io/networks', 'samplecrd.k8s.io/netwrok', 'samplecrds.k8s.io/network'])(
  'networkMistakes finds the misspelled key %s',
  (key) => {
    expect(mistakes(pod({ annotations: { [key]: 'blue' } }))).toEqual([
      `${key} in the annotations of the pod has no effect: did you mean the annotation ${KEY}?`,
    ]);
  },
);
