import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Sidecars } from '../../../../../src/addons/routes/delivery/sidecars.ts';
import type { KubeObject } from '../../../../../src/kube/api/object.ts';
import { requesting } from '../../../../support/kube/requesting.ts';
import { FakeClock } from '../../../../support/time/fake-clock.ts';

const PODS = ['a', 'b', 'c'];
const { signal } = new AbortController();

const step = fc.oneof(
  fc.record({ do: fc.constantFrom('create', 'delete', 'reconcile'), pod: fc.constantFrom(...PODS) }),
  fc.record({ do: fc.constant('deliver'), version: fc.constantFrom('1', '2') }),
  fc.record({ do: fc.constantFrom('hear', 'look', 'forgetFile') }),
);

/** Sidecars that run the delivered version, a cache of their pods, and handlers that hear of deletions later. */
class World {
  readonly #pods = new Map<string, KubeObject>();
  readonly #unheard: KubeObject[] = [];
  readonly #clock = new FakeClock();
  #version = '1';
  #uids = 0;
  readonly sidecars = new Sidecars({
    client: requesting(async (_, path) => {
      const name = path.split('/').at(-1) ?? '';
      return { ...this.#pods.get(name), status: { podIP: name } };
    }),
    pods: { get: (key) => this.#pods.get(key.replace('shop/', '')), byIndex: () => [...this.#pods.values()] },
    touch: false,
    ask: async () => this.#version,
    now: () => this.#clock.now(),
    wallClock: () => new Date(0),
    recount: () => undefined,
    taken: () => undefined,
    refused: () => undefined,
  });

  async take(step: { readonly do: string; readonly pod?: string; readonly version?: string }): Promise<void> {
    const { pod: name = '', version = '' } = step;
    const pod = this.#pods.get(name);
    if (step.do === 'create' && !pod) {
      this.#pods.set(name, { metadata: { name, namespace: 'shop', uid: `${++this.#uids}` } });
    } else if (step.do === 'delete' && pod) {
      this.#pods.delete(name);
      this.#unheard.push(pod);
    } else if (step.do === 'reconcile') {
      await this.sidecars.reconcile(`shop/${name}`, signal);
      this.#clock.advance(10_000);
    } else if (step.do === 'deliver') {
      this.#version = version;
      this.sidecars.delivered('shop', version, true);
    } else if (step.do === 'look') {
      this.sidecars.tally('shop');
    } else if (step.do === 'forgetFile') {
      this.sidecars.forgetFile('shop');
    } else if (step.do === 'hear') {
      for (const gone of this.#unheard.splice(0)) this.sidecars.forget(gone);
    }
  }

  /** Every deletion is heard, and every sidecar has answered. */
  async settle(): Promise<number> {
    await this.take({ do: 'hear' });
    await this.take({ do: 'deliver', version: '3' });
    for (const pod of PODS) await this.take({ do: 'reconcile', pod });
    return this.#pods.size;
  }
}

test('whatever happens to pods and files, each sidecar counts once', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
      const world = new World();
      await world.take({ do: 'deliver', version: '1' });
      for (const each of steps) await world.take(each);
      const count = await world.settle();
      expect([...world.sidecars.tally('shop')]).toEqual(count === 0 ? [] : [['3', count]]);
    }),
    { numRuns: 1_000 },
  );
});
