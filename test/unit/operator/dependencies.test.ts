import { globSync, readFileSync } from 'node:fs';
import { beforeEach, expect, test } from '@jest/globals';
import { loadAll } from 'js-yaml';
import { Registry } from 'prom-client';
import { type KubeObject, keyOf } from '../../../src/kube/api/object.ts';
import type { Resource } from '../../../src/kube/api/resource.ts';
import type { EventDetails } from '../../../src/kube/events/events.ts';
import type { Manager } from '../../../src/kube/manager/manager.ts';
import { type DependencyOptions, setUpDependencies } from '../../../src/operator/dependencies.ts';
import { capturedLog, type LogLine } from '../../support/kube/captured-log.ts';
import { FakeInformer } from '../../support/kube/fake-informer.ts';

const flags: DependencyOptions = {
  namespace: 'envoy-initializer',
  webhookUrl: undefined,
  kubeconfig: undefined,
  nodeAgentNamespace: 'envoy-initializer-node-agent',
  annotation: 'initializer.kubernetes.io/envoy',
  initializerName: 'envoy.initializer.kubernetes.io',
  requireAnnotation: true,
};
const WATCHED = /^(Mutating|Validating)(Webhook|Admission)|^Service$/;
const manifests = globSync('deploy/{base,overlays/node-agent}/*.yaml')
  .flatMap((file) => loadAll(readFileSync(file, 'utf8')) as KubeObject[])
  .filter(({ kind = '' }) => WATCHED.test(kind));
const nameOf = ({ kind, metadata }: KubeObject) => `${kind} ${metadata.name}`;

let informers: Map<string, FakeInformer<KubeObject> & { hasSynced(): boolean }>;
let synced: boolean;
let events: [KubeObject, EventDetails][];
let lines: LogLine[];
let registry: Registry;
let look: () => Promise<void>;
let warning: () => string | undefined;

function start(options: Partial<DependencyOptions> = {}): void {
  const captured = capturedLog();
  ({ lines } = captured);
  [informers, events, registry, synced] = [new Map(), [], new Registry(), true];
  setUpDependencies(
    {
      registry,
      log: captured.log,
      events: { event: (...event: [KubeObject, EventDetails]) => events.push(event) },
      informer({ kind }: Resource<KubeObject>) {
        const informer =
          informers.get(kind) ?? Object.assign(new FakeInformer<KubeObject>(), { hasSynced: () => synced });
        informers.set(kind, informer);
        return informer;
      },
      everyReplica: (_: string, task: () => Promise<void>) => (look = task),
      addReadyzWarning: (_: string, check: typeof warning) => (warning = check),
    } as unknown as Manager,
    { ...flags, ...options },
  );
  for (const object of manifests) {
    const namespace = object.kind === 'Service' ? { namespace: flags.namespace } : {};
    informers.get(object.kind ?? '')?.set({ ...object, metadata: { ...object.metadata, ...namespace } });
  }
}

async function present(): Promise<Readonly<Record<string, number>>> {
  const metric = await registry.getSingleMetric('envoy_initializer_dependency_present')?.get();
  const values = metric?.values.map(({ labels, value }) => [`${labels.kind} ${labels.name}`, value]);
  return Object.fromEntries(values ?? []);
}

beforeEach(() => start());

test('the operator needs each webhook configuration and policy of the manifests, and the Service', async () => {
  await look();
  const all = manifests.map(nameOf);
  expect(await present()).toEqual(Object.fromEntries(all.map((name) => [name, 1])));
  expect(all.length).toBeGreaterThan(15);
});

test('the operator needs less without node agents and with an address of the webhook', async () => {
  start({ nodeAgentNamespace: undefined, webhookUrl: 'https://127.0.0.1' });
  await look();
  const names = Object.keys(await present()).join();
  expect(names).not.toMatch(/Service |node-agent|network-ports/);
});

test('the operator does not know what is missing before its cache has synced', async () => {
  synced = false;
  await look();
  await look();
  expect([await present(), warning(), events]).toEqual([{}, undefined, []]);
});

test.each(manifests.map((object) => [nameOf(object), object] as const))(
  'the deleted %s is reported by a metric, an Event, the log and /readyz, once, until it is back',
  async (name, object) => {
    await look();
    const informer = informers.get(object.kind ?? '');
    const found = informer?.lister.list().find(({ metadata }) => metadata.name === object.metadata.name);
    if (found) informer?.delete(keyOf(found));
    // It may be replaced.
    await look();
    expect([(await present())[name], events, warning()]).toEqual([1, [], undefined]);
    await look();
    await look();
    expect(Object.entries(await present()).filter(([, value]) => value === 0)).toEqual([[name, 0]]);
    expect(warning()).toBe(`missing: ${name}`);
    expect(events).toEqual([
      [
        expect.objectContaining({
          kind: object.kind,
          metadata: expect.objectContaining(metadataOf(found)),
        }),
        expect.objectContaining({
          reason: 'DependencyMissing',
          note: expect.stringContaining('missing: '),
        }),
      ],
    ]);
    if (found) informer?.set(found);
    await look();
    expect([(await present())[name], warning()]).toEqual([1, undefined]);
    expect(lines.map(({ msg }) => msg)).toEqual(['object is missing: restore it', 'missing object restored']);
  },
);

function metadataOf(object: KubeObject | undefined) {
  const { name, namespace } = object?.metadata ?? {};
  return namespace === undefined ? { name } : { name, namespace };
}

test('flags that the webhooks do not follow are logged at each change', () => {
  start({ requireAnnotation: false });
  const informer = informers.get('MutatingWebhookConfiguration');
  const [configuration] = informer?.lister.list() ?? [];
  expect(lines.map(({ msg }) => msg)).toEqual([expect.stringMatching(/^flag mismatch: --require/)]);
  if (configuration) informer?.set({ ...configuration });
  expect(lines).toHaveLength(1);
  informer?.set({ ...configuration, webhooks: [] } as never);
  expect(lines.map(({ msg }) => msg)).toContainEqual(expect.stringMatching(/no webhook is named/));
});
