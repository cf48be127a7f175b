import { compilePolicies, type PolicyObject } from '../../src/addons/policies/compile.ts';
import { POLICIES, POLICY_BINDINGS } from '../../src/addons/policies/resources.ts';
import { keysFor } from '../../src/injection/keys.ts';
import { MUTATING_WEBHOOK_CONFIGURATIONS, NAMESPACES, PODS } from '../../src/kube/api/core-resources.ts';
import type { KubeObject } from '../../src/kube/api/object.ts';
import type { KubeClient } from '../../src/kube/client/client.ts';
import type { JsonObject } from '../../src/util/json.ts';
import { eventually } from '../env/eventually.ts';
import { hasSidecar } from '../support/cluster/admission-load.ts';
import { OPT_IN, templateSet } from '../support/injection/demo.ts';
import type { Measurement } from './measurement.ts';
import { User } from './networks.ts';
import { REVIEWS } from './reviews.ts';
import type { BenchSettings } from './settings.ts';
import { ALONE, type Stage, setStage } from './stage.ts';
import { ratios, summarise } from './statistics.ts';

/** Who looks at the pods of a namespace; the namespace is called so, too. */
const INJECTORS = ['nothing', 'policy', 'webhook', 'both'] as const;
type Injector = (typeof INJECTORS)[number];

/** The label by which a namespace says so. */
const LABEL = 'bench';

/**
 * How long a user waits for a pod to be created, through the real API server, which injects it itself by the policy, asks
 * the webhook, has both, or neither. All four are there at once, each for a namespace of its own, and pods are created in
 * each by turns: what else the machine does meanwhile falls on all of them.
 */
export async function admissionBench({ runs, seconds }: BenchSettings): Promise<readonly Measurement[]> {
  const stage = await setStage({ args: [ALONE, '--policy=off'] });
  const user = new User(stage.controlPlane);
  try {
    await prepare(user.client);
    await prove(stage, user.client);
    const medians = new Map<Injector, number[]>(INJECTORS.map((injector) => [injector, []]));
    // The first counts for nothing: V8 compiles.
    for (let run = 0; run <= runs; run++) {
      for (const [injector, latencies] of await createByTurns(user.client, seconds)) {
        if (run > 0) medians.get(injector)?.push(summarise(latencies).median);
      }
    }
    const nothing = medians.get('nothing') ?? [];
    return INJECTORS.filter((injector) => injector !== 'nothing').map((injector) => {
      const ours = medians.get(injector) ?? [];
      return {
        name: `creation of a pod, ${injector === 'both' ? 'policy and webhook' : injector}`,
        unit: 'ms',
        ours: summarise(ours),
        floor: summarise(nothing),
        ratio: summarise(ratios(ours, nothing)),
      };
    });
  } finally {
    await user.close();
    await stage.stop();
  }
}

/** Milliseconds of each creation, by who looked at the pod. */
async function createByTurns(client: KubeClient, seconds: number): Promise<Map<Injector, number[]>> {
  const latencies = new Map<Injector, number[]>(INJECTORS.map((injector) => [injector, []]));
  const end = performance.now() + seconds * 1_000;
  for (let turn = 0; performance.now() < end; turn++) {
    // Each comes first as often as the others.
    for (let i = 0; i < INJECTORS.length; i++) {
      const injector = INJECTORS[(turn + i) % INJECTORS.length] ?? 'nothing';
      const start = performance.now();
      await create(client, injector);
      latencies.get(injector)?.push(performance.now() - start);
    }
  }
  return latencies;
}

/** @throws Error for a pod with a sidecar that should have none, or the other way round. */
async function create(client: KubeClient, injector: Injector): Promise<void> {
  const created = await client.create(PODS, podIn(injector));
  if (hasSidecar(created) === (injector === 'nothing')) {
    throw new Error(`the pod ${created.metadata.name} of namespace ${injector} is not as expected`);
  }
}

function podIn(namespace: Injector): KubeObject {
  const typical = REVIEWS.find(({ name }) => name === '5 kB')?.bodies[0] ?? '';
  const { spec } = JSON.parse(typical).request.object;
  // Nobody is to schedule it.
  const schedulingGates = [{ name: 'example.com/never' }];
  return {
    metadata: { generateName: 'pod-', namespace, labels: { [OPT_IN]: 'true' } },
    spec: { ...spec, schedulingGates },
  } as unknown as KubeObject;
}

/** The namespaces, the policies for two of them, and the webhooks for two. */
async function prepare(client: KubeClient): Promise<void> {
  for (const name of INJECTORS) {
    await client.create(NAMESPACES, { metadata: { name, labels: { [LABEL]: name } } } as KubeObject);
  }
  const { objects } = compilePolicies(templateSet(), {
    keys: keysFor(OPT_IN),
    requireAnnotation: true,
    operatorNamespace: 'envoy-initializer',
    // Not the operator's own: it would remove them.
    name: 'bench.example.com',
    alone: false,
  });
  for (const object of objects) {
    const resource = object.kind === POLICIES.kind ? POLICIES : POLICY_BINDINGS;
    await client.create(resource, onlyIn(['policy', 'both'], object));
  }
  const ref = { name: 'envoy-initializer' };
  const { webhooks } = (await client.get(MUTATING_WEBHOOK_CONFIGURATIONS, ref)) as KubeObject & {
    readonly webhooks: readonly { readonly namespaceSelector?: Selector }[];
  };
  const selectors = webhooks.map(({ namespaceSelector }, i) => ({
    op: 'add' as const,
    path: `/webhooks/${i}/namespaceSelector`,
    value: narrowed(namespaceSelector, ['webhook', 'both']),
  }));
  await client.jsonPatch(MUTATING_WEBHOOK_CONFIGURATIONS, ref, selectors);
}

interface Selector {
  readonly matchExpressions?: readonly object[];
}

function narrowed(selector: Selector | undefined, values: readonly Injector[]): Selector {
  const here = { key: LABEL, operator: 'In', values };
  return { ...selector, matchExpressions: [...(selector?.matchExpressions ?? []), here] };
}

function onlyIn(namespaces: readonly Injector[], object: PolicyObject): KubeObject {
  const { matchConstraints } = object.spec as { readonly matchConstraints?: JsonObject };
  if (!matchConstraints) return object as unknown as KubeObject;
  const namespaceSelector = narrowed(matchConstraints.namespaceSelector as Selector, namespaces);
  const spec = { ...object.spec, matchConstraints: { ...matchConstraints, namespaceSelector } };
  return { ...object, spec } as unknown as KubeObject;
}

/** Resolves when each namespace has its pods looked at by those that it should, and by no other. */
async function prove({ metric }: Stage, client: KubeClient): Promise<void> {
  const calls = () => metric('controller_runtime_webhook_requests_total');
  for (const injector of INJECTORS) {
    await eventually(`pods of namespace ${injector} are treated as they should be`, async () => {
      const before = await calls();
      await create(client, injector);
      return (await calls()) - before === (injector === 'webhook' ? 1 : 0);
    });
  }
}
