import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { NetworkSpec } from '../../../../src/networks/api/types.ts';
import { type Mishap, NetworkModel } from '../../../support/network/network-model.ts';

const SHAPES = [
  { cidr: '10.1.0.0/16', gateway: '10.1.0.1' },
  { cidr: '10.1.0.0/16', gateway: '10.1.0.9' },
  { cidr: '10.1.0.0/24', gateway: '10.1.0.9' },
  { cidr: '10.2.0.0/16', gateway: '10.2.0.1', mtu: 1400 },
] as const;
/** More calls than a reconcile makes, so that some faults hit none. */
const CALLS = 14;
/** Four steps: finalizer, network, earlier leftovers, status. */
const SETTLING_ROUNDS = 6;

type Step =
  | { readonly do: 'create' | 'edit'; readonly subnet: number }
  | { readonly do: 'delete' | 'dropFinalizers' | 'vanish' | 'wreck' | 'reconcile' }
  | { readonly do: 'mishap'; readonly mishap: Mishap };

const mishaps: fc.Arbitrary<Mishap> = fc.record({
  nth: fc.nat(CALLS),
  done: fc.boolean(),
  dies: fc.boolean(),
});
const shapes = fc.nat(SHAPES.length - 1);
const steps: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: fc.record({ do: fc.constantFrom('create', 'edit'), subnet: shapes }), weight: 2 },
  {
    arbitrary: fc.record({ do: fc.constantFrom('delete', 'dropFinalizers', 'vanish', 'wreck', 'reconcile') }),
    weight: 2,
  },
  { arbitrary: fc.record({ do: fc.constant('mishap'), mishap: mishaps }), weight: 3 },
);

async function take(model: NetworkModel, step: Step, provider: NonNullable<NetworkSpec['provider']>) {
  switch (step.do) {
    case 'create':
      model.create({ ...(SHAPES[step.subnet] ?? SHAPES[0]), provider });
      return;
    case 'edit':
      model.edit(SHAPES[step.subnet] ?? SHAPES[0]);
      return;
    case 'delete':
      model.delete();
      return;
    case 'dropFinalizers':
      model.dropFinalizers();
      return;
    case 'vanish':
      model.delete();
      model.dropFinalizers();
      return;
    case 'wreck':
      model.wreck();
      return;
    case 'reconcile':
      await model.reconcile();
      return;
    case 'mishap':
      await model.reconcile(step.mishap);
      return;
  }
}

describe.each(['multus', 'neutron'] as const)('with provider %s', (provider) => {
  test(`a Network of ${provider} never has two real networks, and ends with the one in its spec`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { maxLength: 12 }), async (taken) => {
        const model = new NetworkModel();
        for (const step of taken) {
          await take(model, step, provider);
          const uids = new Set([...model.neutron.networks.values()].map(({ description }) => description));
          expect(uids.size).toBe(model.neutron.networks.size);
        }
        for (let round = 0; round < SETTLING_ROUNDS; round++) await model.reconcile();
        const { network } = model;
        const isWanted = network && !network.metadata.deletionTimestamp;
        expect(model.real()).toEqual(isWanted ? [`${network.spec.cidr} ${network.spec.gateway}`] : []);
        expect(network?.metadata.deletionTimestamp).toBeUndefined();
      }),
      { numRuns: 400 },
    );
  });

  test(`a crash or failure at any call leaves no duplicate and no leftover of a Network of ${provider}`, async () => {
    for (const lost of ['creation', 'change', 'deletion'] as const) {
      for (let nth = 0; nth < CALLS; nth++) {
        for (const [done, dies] of [
          [false, false],
          [false, true],
          [true, false],
          [true, true],
        ] as const) {
          const model = new NetworkModel();
          const step = async (name: typeof lost) => {
            if (name === lost) await model.reconcile({ nth, done, dies });
            else for (let round = 0; round < 3; round++) await model.reconcile();
          };
          model.create({ ...SHAPES[0], provider });
          await step('creation');
          model.edit(SHAPES[2]);
          await step('change');
          await model.reconcile();
          expect(model.real()).toEqual([`${SHAPES[2].cidr} ${SHAPES[2].gateway}`]);
          model.delete();
          await step('deletion');
          await model.reconcile();
          await model.reconcile();
          expect([model.network, model.real()]).toEqual([undefined, []]);
        }
      }
    }
  });
});
