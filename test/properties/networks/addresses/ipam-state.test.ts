import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { AddressWorld } from '../../../support/network/address-world.ts';

/** `NETWORK_RUNS=10000` for more. */
const RUNS = Number(process.env.NETWORK_RUNS ?? 1_000);
/** Few names, addresses and nodes, so that they meet often. */
const MULTUS = 'k8s.v1.cni.cncf.io/networks';
const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'];
const NODES = ['n1', 'n2'];
/** It leaves three addresses. */
const SMALL = { cidr: '10.0.0.0/29', gateway: '10.0.0.1', exclude: ['10.0.0.4/31'] };
const DUAL = { ...SMALL, secondary: { cidr: 'fd00::/126', gateway: 'fd00::1' } };

type Step =
  | {
      readonly do: 'create';
      readonly name: string;
      readonly node: string;
      readonly wish: 'any' | 'free' | 'fixed';
    }
  | { readonly do: 'delete' | 'away' | 'back'; readonly name: string }
  | { readonly do: 'catchUp'; readonly replica: number; readonly events: number }
  | { readonly do: 'lead' | 'count'; readonly replica: number }
  | { readonly do: 'sweep' }
  | { readonly do: 'reconcile'; readonly name: string; readonly fate: 'done' | 'dropped' | 'answer lost' }
  | { readonly do: 'interrupt'; readonly name: string; readonly steps: readonly Step[] };

const name = fc.constantFrom(...NAMES);
const node = fc.constantFrom(...NODES);
const replica = fc.nat(1);
const action = <const D extends string>(what: D, of: fc.Arbitrary<string>) =>
  fc.record({ do: fc.constant(what), name: of });
const reconciles: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('reconcile' as const),
  name,
  fate: fc.constantFrom('done' as const, 'done' as const, 'dropped' as const, 'answer lost' as const),
});
const creates: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('create' as const),
  name,
  node,
  wish: fc.constantFrom('any' as const, 'any' as const, 'free' as const, 'fixed' as const),
});
const catchesUp: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('catchUp' as const),
  replica,
  events: fc.integer({ min: 1, max: 12 }),
});
const leads: fc.Arbitrary<Step> = fc.record({ do: fc.constant('lead' as const), replica });
const others: fc.Arbitrary<Step> = fc.oneof(
  action('away', node),
  action('back', node),
  fc.constant({ do: 'sweep' as const }),
  fc.record({ do: fc.constant('count' as const), replica }),
);
const quiet = [
  { arbitrary: reconciles, weight: 5 },
  { arbitrary: creates, weight: 3 },
  { arbitrary: catchesUp, weight: 3 },
  { arbitrary: action('delete', name), weight: 2 },
  { arbitrary: others, weight: 2 },
];
const interrupts: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('interrupt' as const),
  name,
  // A new leader begins only when the writes of the former one have ended.
  steps: fc.array(fc.oneof(...quiet), { maxLength: 4 }),
});
const steps = fc.array(
  fc.oneof(...quiet, { arbitrary: leads, weight: 2 }, { arbitrary: interrupts, weight: 2 }),
  { maxLength: 60 },
);

async function take(world: AddressWorld, step: Step): Promise<void> {
  switch (step.do) {
    case 'create':
      return world.create(step.name, {
        node: step.node,
        isGated: step.wish !== 'free',
        ...(step.wish === 'fixed' && { ips: ['10.0.0.3/29'] }),
      });
    case 'delete':
      return world.delete(step.name);
    case 'away':
      return world.goAway(step.name);
    case 'back':
      return world.comeBack(step.name);
    case 'catchUp':
      return world.replicas[step.replica]?.catchUp(step.events);
    case 'lead':
      return world.lead(step.replica);
    case 'count': {
      // May forget the book.
      const counts = world.replicas[step.replica]?.ipam.countsOf('default/blue');
      expect(counts).toEqual(world.replicas[step.replica]?.ipam.of('default/blue')?.counts);
      return;
    }
    case 'sweep':
      return world.leader.ipam.sweep();
    case 'reconcile':
      world.fate = step.fate;
      await world.leader.reconcile(step.name);
      world.fate = 'done';
      return;
    case 'interrupt':
      world.fate = async () => {
        for (const each of step.steps) await take(world, each);
      };
      await world.leader.reconcile(step.name);
      world.fate = 'done';
      return;
  }
}

/** All caches catch up, all nodes respond, and every pod is reconciled until nothing changes. */
async function settle(world: AddressWorld): Promise<void> {
  for (const each of world.replicas) each.catchUp();
  for (const each of NODES) world.comeBack(each);
  for (let round = 0; round < 4; round += 1) {
    for (const each of world.replicas) each.catchUp();
    world.leader.ipam.sweep();
    for (const each of NAMES) await world.leader.reconcile(each);
  }
  for (const each of world.replicas) each.catchUp();
  world.leader.ipam.sweep();
}

const twice = (addresses: readonly string[]) =>
  addresses.filter((each, index) => addresses.indexOf(each) !== index);

test.each([
  ['one family', SMALL],
  ['two families', DUAL],
])(
  'an address of a Network with %s is of one pod, and free when nobody has it, whatever happens',
  async (_, ranges) => {
    await fc.assert(
      fc.asyncProperty(steps, async (taken) => {
        const world = new AddressWorld(ranges);
        for (const each of NAMES.slice(0, 3)) world.create(each, { isGated: true, node: NODES[0] ?? '' });
        for (const each of world.replicas) each.catchUp();
        for (const step of taken) {
          await take(world, step);
          expect(twice(world.inUse())).toEqual([]);
        }
        await settle(world);
        expect(twice(world.inUse())).toEqual([]);
        const book = world.leader.ipam.of('default/blue');
        const held = [...new Set(world.inUse())];
        const free = held.filter((address) => book?.problemOf(address) === undefined);
        expect(held).toEqual(free);
        const gated = [...world.pods.values()].filter(({ spec }) => spec.schedulingGates.length > 0);
        const asked = gated.some(({ metadata }) => JSON.stringify(metadata).includes('10.0.0.3'));
        const inPool = held.filter((address) => address.includes('.') && address !== '10.0.0.3/29').length;
        const fixed = held.includes('10.0.0.3/29') || asked ? 1 : 0;
        if (!('secondary' in ranges)) expect(book?.counts.taken).toBe(inPool + fixed);
        const waits = gated.filter(({ metadata }) => metadata.annotations[MULTUS] === 'blue');
        if (book && book.counts.taken < book.counts.total) expect(waits).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  },
);
