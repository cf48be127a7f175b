import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect } from '@jest/globals';
import fc from 'fast-check';
import type { Keys } from '../../../src/injection/keys.ts';
import { placeOf } from '../../../src/injection/podspec/mount-path.ts';
import {
  annotation,
  containers,
  initContainers,
  type Pod,
  specField,
} from '../../../src/injection/podspec/pod.ts';
import type { Template } from '../../../src/injection/template/template.ts';
import { type JsonObject, type JsonValue, ownObjects } from '../../../src/util/json.ts';
import { podsFor, TEMPLATE_SETS } from '../../support/injection/policy-cases.ts';
import {
  type Injector,
  type Installation,
  installation,
  PolicyLab,
} from '../../support/injection/policy-lab.ts';
import { since } from '../../support/jest/since.ts';

/** Kubernetes has these policies since 1.36. */
const { test } = since(36);

const TEMPLATES = 100;
const PODS_EACH = 5;
const SEED = 20261121;
/** Of namespaces: where nobody opted in, where some of the templates are, where templates are selected, and where pod security is enforced. */
const PREFIXES = ['plain', 'opted-in', 'plain', 'opted-in', 'plain', 'selecting', 'restricted'] as const;

interface Pair {
  readonly of: Installation;
  readonly number: number;
  readonly pod: JsonObject;
  readonly prefix: string;
}

let lab: PolicyLab;
let pairs: readonly Pair[];

beforeAll(async () => {
  lab = await PolicyLab.start();
  const sets = fc.sample(TEMPLATE_SETS, { numRuns: TEMPLATES, seed: SEED });
  const installations = sets.map((set, i) => installation(`t${i}`, set, { requireAnnotation: i % 3 !== 0 }));
  const optedIn = installations
    .filter((_, i) => i % 2 === 0)
    .map(({ options }) => [options.keys.optIn, 'true']);
  await lab.createNamespaces('plain', {});
  const selecting = installations
    .filter(isSelected)
    .map(({ options }, i) => [options.keys.templates, i % 2 === 0 ? 'config' : 'none']);
  await lab.createNamespaces('selecting', {
    labels: Object.fromEntries(optedIn),
    annotations: Object.fromEntries(selecting),
  });
  await lab.createNamespaces('opted-in', { labels: Object.fromEntries(optedIn) });
  await lab.createNamespaces('restricted', {
    labels: { 'pod-security.kubernetes.io/enforce': 'restricted' },
  });
  await lab.install(installations);
  pairs = installations.flatMap((of, i) =>
    fc
      .sample(podsFor(of.options.keys.optIn), { numRuns: PODS_EACH, seed: SEED + i })
      .map((pod, n) => ({ of, number: i, pod, prefix: PREFIXES[(i + n) % PREFIXES.length] ?? 'plain' })),
  );
}, 300_000);

afterAll(() => lab?.stop());

test('a policy and the webhook inject every pod alike, or the policy leaves it to the webhook as it was', async () => {
  const seen = { injected: 0, alike: 0, left: 0 };
  await inParallel(8, pairs, async ({ of: { id, set, options }, number, pod, prefix }) => {
    const ask = (injector: Injector) => lab.admit(injector, prefix, id, pod);
    const [policy, webhook, nobody] = await Promise.all([ask('policy'), ask('webhook'), ask('nobody')]);
    const template = set.templates.get('config');
    const byNamespace = prefix === 'restricted' || (prefix === 'selecting' && isSelected(null, number));
    const left = byNamespace || (template !== undefined && isLeft(pod, template, options.keys));
    const untouched = left && isDeepStrictEqual(policy, nobody);
    expect({ id, prefix, pod, policy }).toEqual({ id, prefix, pod, policy: untouched ? nobody : webhook });
    if (untouched) seen.left += 1;
    else if (isDeepStrictEqual(policy, nobody)) seen.alike += 1;
    else seen.injected += 1;
  });
  expect(seen.injected).toBeGreaterThan(1.5 * TEMPLATES);
  expect(seen.left).toBeGreaterThan(TEMPLATES / 2);
}, 300_000);

/** Whether the namespaces `selecting-…` select templates of an installation. */
function isSelected(_: unknown, number: number): boolean {
  return number % 3 !== 0;
}

async function inParallel<T>(
  width: number,
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  const left = items.values();
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (const item of left) await work(item);
    }),
  );
}

/** What a policy does not weigh up: a pod that says more than that it wants a sidecar, or has what the template adds. */
function isLeft(pod: Pod, template: Template, keys: Keys): boolean {
  const asked = [keys.templates, keys.status, ...Object.values(keys.overrides)];
  const own = [...containers(pod), ...initContainers(pod)];
  const added = [...template.containers, ...template.initContainers];
  const volumesOf = (spec: JsonValue | undefined) => ownObjects(spec, 'volumes');
  return (
    asked.some((key) => annotation(pod, key) !== undefined) ||
    specField(pod, 'resources') !== undefined ||
    own.some(({ image }) => image === 'auto') ||
    meet(own, added, 'name') ||
    meet(portsOf(own), portsOf(added), 'containerPort') ||
    meet(portsOf(own), portsOf(added), 'name') ||
    meet(
      portsOf(own),
      portsOf(added).filter(({ hostPort }) => hostPort !== 0),
      'hostPort',
    ) ||
    meet(volumesOf(pod.spec), template.volumes, 'name') ||
    meet(ownObjects(pod.spec, 'hostAliases'), template.hostAliases, 'ip') ||
    containers(pod).some((container) => meet(ownObjects(container, 'env'), template.env, 'name')) ||
    (template.volumeMounts.length > 0 &&
      containers(pod).some((container) => meetsMounts(container, template)))
  );
}

function meetsMounts(container: JsonObject, { volumeMounts }: Template): boolean {
  const mounts = ownObjects(container, 'volumeMounts');
  return (
    ownObjects(container, 'volumeDevices').length > 0 ||
    mounts.some(({ mountPath }) => placeOf(String(mountPath)) !== mountPath || mountPath === '/') ||
    meet(mounts, volumeMounts, 'mountPath')
  );
}

function portsOf(all: readonly JsonObject[]): readonly JsonObject[] {
  return all.flatMap((container) => ownObjects(container, 'ports'));
}

function meet(some: readonly JsonObject[], others: readonly JsonObject[], key: string): boolean {
  const values = new Set(some.map((item) => item[key]).filter((value) => value !== undefined));
  return others.some((item) => values.has(item[key] ?? null));
}
