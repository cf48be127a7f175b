import { expect, test } from '@jest/globals';
import { AddressWorld } from '../../../support/network/address-world.ts';

const SUBNET = { cidr: '10.0.0.0/29', gateway: '10.0.0.1' };
const create = (world: AddressWorld, name: string, claim?: string) =>
  world.create(name, { isGated: true, node: 'n1', ...(claim !== undefined && { claim }) });

test('a new leader does not give an address that its cache does not show yet', async () => {
  const world = new AddressWorld(SUBNET);
  create(world, 'a');
  create(world, 'b');
  for (const each of world.replicas) each.catchUp();
  await world.leader.reconcile('a');
  world.lead(1);
  await world.leader.reconcile('b');
  expect(world.inUse()).toEqual(['10.0.0.2/29', '10.0.0.3/29']);
});

test('a new leader does not give the address of a claim that its cache does not show yet', async () => {
  const world = new AddressWorld(SUBNET);
  world.createClaim('claim');
  create(world, 'a', 'claim');
  create(world, 'b');
  for (const each of world.replicas) each.catchUp();
  world.fate = 'answer lost';
  await world.leader.reconcile('a');
  world.lead(1);
  await world.leader.reconcile('b');
  expect([world.claimedIps(), world.inUse()]).toEqual([['10.0.0.2/29'], ['10.0.0.3/29']]);
});

test('a claim has the address before its pod, and one pod at a time', async () => {
  const world = new AddressWorld(SUBNET);
  world.createClaim('claim');
  create(world, 'a', 'claim');
  create(world, 'b', 'claim');
  world.leader.catchUp();
  await world.leader.reconcile('a');
  await world.leader.reconcile('b');
  expect([world.claimedIps(), world.inUse()]).toEqual([['10.0.0.2/29'], ['10.0.0.2/29']]);
  expect(world.notices.at(-1)).toBe(
    'WaitsForNetwork: waits for its Network: IPAMClaim default/claim is in use by pod default/a',
  );
  world.delete('a');
  world.leader.catchUp();
  await world.leader.reconcile('b');
  expect(world.inUse()).toEqual(['10.0.0.2/29']);
});

test('a replica that leads again does not reuse what it had in mind', async () => {
  const world = new AddressWorld(SUBNET);
  create(world, 'a');
  create(world, 'b');
  for (const each of world.replicas) each.catchUp();
  world.fate = 'dropped';
  await world.leader.reconcile('a');
  world.lead(1);
  await world.leader.reconcile('b');
  world.lead(0);
  await world.leader.reconcile('a');
  expect(new Set(world.inUse()).size).toBe(2);
});
