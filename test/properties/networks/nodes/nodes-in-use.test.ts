import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { ConditionUpdate } from '../../../../src/networks/api/conditions.ts';
import type { NetworkAttachmentDefinition } from '../../../../src/networks/api/resources.ts';
import { updatesOf } from '../../../../src/networks/controller/condition-plan.ts';
import type { KnownNode } from '../../../../src/networks/nodes/nodes-in-use.ts';
import { NetworkAccess } from '../../../../src/networks/pods/network-access.ts';
import { networkPods, networksOf } from '../../../../src/networks/pods/network-pods.ts';
import { forgedConfig } from '../../../support/network/forged-config.ts';
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
        node: { addresses: step.address === 0 ? [] : [`192.0.2.${step.address}`], isAway: false },
        ...(step.agent !== 'none' && {
          report: {
            current: step.agent === 'current' ? { version: 2, ranges: [], problems } : undefined,
            problem: 'its report is invalid',
          },
        }),
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

test('a Network that no pod can attach to is Ready, and its reason says so', () => {
  const desired = { cidr: '10.20.0.0/24', gateway: '10.20.0.1' };
  const observed = { desired, current: desired, specError: undefined, usage: undefined, attachesPods: false };
  const { Ready } = updatesOf(observed, { kind: 'ready', change: 'none', capacity: 1 });
  expect(Ready).toMatchObject({ status: 'True', reason: 'ProviderCannotAttach' });
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

/** Invariants 2 and 5: what others write changes nothing that node agents read. */

const PODS = networkPods(new NetworkAccess([]));
const KEYS = ['samplecrd.k8s.io/network', 'k8s.v1.cni.cncf.io/networks', 'k8s.v1.cni.cncf.io/network-status'];
const name = fc.constantFrom('victim/blue', 'victim/green', 'tenant/blue', 'blue', '/blue', 'victim/', '*');
const element = fc.record(
  {
    name,
    namespace: fc.constantFrom('victim', 'tenant', ''),
    ips: fc.array(fc.ipV4()),
    default: fc.boolean(),
  },
  { requiredKeys: ['name'] },
);
const annotation = fc.oneof(
  fc.array(name).map((names) => names.join()),
  fc.array(element).map((list) => JSON.stringify(list)),
  fc.json(),
  fc.string(),
);
const annotations = fc.dictionary(fc.constantFrom(...KEYS), annotation);

test('no pod is a user of a Network in another namespace, whatever its annotations say', () => {
  fc.assert(
    fc.property(annotations, (given) => {
      const metadata = { name: 'liar', namespace: 'tenant', annotations: given };
      const networks = networksOf(PODS.decode({ metadata, spec: { nodeName: 'n1' } }));
      expect(networks.filter((key) => !key.startsWith('tenant/'))).toEqual([]);
    }),
  );
});

const SUBNET = { cidr: '10.99.0.0/16', gateway: '10.99.0.1', mtu: 9000 };
const config = fc.oneof(
  fc.string(),
  fc.json(),
  fc.constantFrom(
    forgedConfig('default/a', SUBNET),
    forgedConfig('default/a', SUBNET, 2 ** 23 + 7),
    forgedConfig('other/b', SUBNET, 2 ** 23),
  ),
);
const metadata = fc.record({
  labels: fc.dictionary(fc.string(), fc.string(), { maxKeys: 2 }),
  annotations: fc.dictionary(fc.constantFrom('samplecrd.k8s.io/network-uid', 'a'), fc.string()),
  ownerReferences: fc.array(
    fc.record({
      apiVersion: fc.constantFrom('samplecrd.k8s.io/v1', 'v1'),
      kind: fc.constantFrom('Network', 'Pod'),
      name: fc.constantFrom('a', 'b'),
      uid: fc.string(),
      controller: fc.boolean(),
    }),
    { maxLength: 2 },
  ),
});

test('no definition changes what the status of its Network says to agents, and none takes a node from it', async () => {
  const definition = fc.record({ config, metadata, isDeleted: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(definition, { minLength: 1, maxLength: 4 }), async (written) => {
      const model = new NetworkModel();
      model.known = new Map([['n1', { node: { addresses: ['192.0.2.1'], isAway: false } }]]);
      model.create({ cidr: '10.20.0.0/24', gateway: '10.20.0.1' });
      await model.reconcile();
      model.pods = ['default/web'];
      model.nodesOfPods = ['n1'];
      await model.reconcile();
      const told = () => {
        const { cidr, gateway, mtu, vni, nodes } = model.network?.status ?? {};
        return { cidr, gateway, mtu, vni, nodes };
      };
      const before = told();
      expect(before).toMatchObject({ cidr: '10.20.0.0/24', nodes: [{ name: 'n1' }] });
      for (const { isDeleted, ...given } of written) {
        if (isDeleted) model.attachments.live.clear();
        else model.attachments.store(theirs(given.config, given.metadata));
        await model.reconcile();
        expect(told()).toEqual(before);
      }
    }),
    { numRuns: RUNS },
  );
});

function theirs(text: string, given: object): NetworkAttachmentDefinition {
  return { metadata: { ...given, namespace: 'default', name: 'a' }, spec: { config: text } };
}
