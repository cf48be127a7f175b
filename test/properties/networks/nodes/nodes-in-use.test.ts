import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { ConditionUpdate } from '../../../../src/networks/api/conditions.ts';
import { updatesOf } from '../../../../src/networks/controller/condition-plan.ts';
import type { KnownNode } from '../../../../src/networks/nodes/nodes-in-use.ts';
import { NetworkModel } from '../../../support/network/network-model.ts';

/** `NETWORK_RUNS=10000` for more. */
const RUNS = Number(process.env.NETWORK_RUNS ?? 200);

/** Invariants 4 and 6: a node's trouble stays its own, and each change of a Network and a node is one write. */

const NODES = ['a', 'b', 'c', 'd'] as const;
const KEY = 'default/a';

type Step =
  | { readonly do: 'run' | 'stop'; readonly pod: number; readonly node: string }
  | { readonly do: 'goes'; readonly node: string }
  | {
      readonly do: 'tells';
      readonly node: string;
      readonly address: number;
      readonly agent: 'none' | 'old' | 'current';
      readonly problem: string;
    }
  | { readonly do: 'nothing' };

const node = fc.constantFrom(...NODES);
const steps: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constantFrom('run', 'stop'), pod: fc.nat(3), node }),
  fc.record({ do: fc.constant('goes'), node }),
  fc.record({
    do: fc.constant('tells'),
    node,
    address: fc.nat(2),
    agent: fc.constantFrom('none', 'old', 'current'),
    problem: fc.constantFrom('', 'no'),
  }),
  fc.record({ do: fc.constant('nothing') }),
);

/** A cluster with one Network. */
class World {
  readonly model = new NetworkModel();
  readonly #known = new Map<string, KnownNode>();
  /** The node of each pod. */
  readonly #pods = new Map<number, string>();

  constructor() {
    this.model.known = this.#known;
    this.model.create({ cidr: '10.20.0.0/24', gateway: '10.20.0.1' });
  }

  take(step: Step): void {
    if (step.do === 'run') this.#pods.set(step.pod, step.node);
    if (step.do === 'stop') this.#pods.delete(step.pod);
    if (step.do === 'goes') this.#known.delete(step.node);
    if (step.do === 'tells') {
      const problems = step.problem === '' ? {} : { [KEY]: step.problem };
      this.#known.set(step.node, {
        internalIp: step.address === 0 ? undefined : `192.0.2.${step.address}`,
        report: step.agent === 'current' ? { version: 2, ranges: [], problems } : undefined,
        ...(step.agent !== 'none' && { reportProblem: 'its report is invalid' }),
      });
    }
    this.model.pods = [...this.#pods.keys()].sort().map((pod) => `default/pod-${pod}`);
    this.model.nodesOfPods = [...new Set(this.#pods.values())];
  }

  /** What concerns the Network: its pods, and what is known of the nodes on which they run. */
  concern(): string {
    const inUse = [...new Set(this.#pods.values())].sort();
    return JSON.stringify([this.model.pods, inUse.map((name) => [name, this.#known.get(name)])]);
  }

  version(): number {
    return Number(this.model.network?.metadata.resourceVersion);
  }
}

test('each change of a Network and a node is at most one write, and nothing else is any', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { maxLength: 25 }), async (taken) => {
      const world = new World();
      await world.model.reconcile();
      expect(world.version()).toBe(3);
      for (const step of taken) {
        const [before, concern] = [world.version(), world.concern()];
        world.take(step);
        for (let round = 0; round < 3; round++) await world.model.reconcile();
        expect(world.version() - before).toBeLessThanOrEqual(concern === world.concern() ? 0 : 1);
        const names = world.model.network?.status?.nodes?.map(({ name }) => name) ?? [];
        expect(names).toEqual(names.toSorted());
        expect(names.filter((name) => !world.model.nodesOfPods.includes(name))).toEqual([]);
      }
    }),
    { numRuns: RUNS },
  );
});

test('a Network is Ready whatever its nodes are, and its other conditions do not depend on them', () => {
  const condition: fc.Arbitrary<ConditionUpdate> = fc.record({
    status: fc.constantFrom('True', 'False'),
    reason: fc.constantFrom('NodesReady', 'NodeFailed', 'NoAgent'),
    message: fc.string(),
  });
  const address = fc.ipV4();
  fc.assert(
    fc.property(condition, fc.array(fc.record({ name: fc.string(), address })), (told, nodes) => {
      const desired = { cidr: '10.20.0.0/24', gateway: '10.20.0.1' };
      const observed = { desired, current: desired, specError: undefined, attachesPods: true };
      const outcome = { kind: 'ready', change: 'none', capacity: 1 } as const;
      const usage = { pods: ['default/web'] };
      const { NodesReady, ...others } = updatesOf(
        { ...observed, usage: { ...usage, nodes: { nodes, condition: told } } },
        outcome,
      );
      expect(NodesReady).toEqual(told);
      expect(others).toEqual(updatesOf({ ...observed, usage }, outcome));
      expect(others.Ready.status).toBe('True');
    }),
  );
});
