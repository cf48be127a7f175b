import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { load } from 'js-yaml';
import {
  describeSubnet,
  recordedSubnet,
  SUBNET_FIELDS,
  type Subnet,
  sameSubnet,
  subnetChanges,
  subnetOf,
} from '../../../../src/networks/api/subnet.ts';
import { newNetwork } from '../networks.ts';

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

test('the table has every field of the spec, and the status records each', () => {
  expect([...NAMES, ...HANDLING].sort()).toEqual(fieldsOf('spec').sort());
  expect(fieldsOf('status')).toEqual(expect.arrayContaining([...NAMES]));
});

describe.each(NAMES)('the field %s', (name) => {
  const changed: Subnet = { ...subnet, [name]: other[name] };

  test('makes subnets different, and the change names it', () => {
    expect(sameSubnet(subnet, { ...subnet })).toBe(true);
    expect(sameSubnet(subnet, changed)).toBe(false);
    expect(subnetChanges(subnet, changed)).toBe(`${name} ${textOf(subnet[name])} to ${textOf(other[name])}`);
  });

  test('is taken from the spec and from the status, and described', () => {
    const spec = { ...newNetwork().spec, ...changed };
    expect(subnetOf(spec)[name]).toEqual(other[name]);
    expect(recordedSubnet(newNetwork({ status: changed }))?.[name]).toEqual(other[name]);
    expect(describeSubnet(changed)).toContain(textOf(other[name]));
  });
});
