import { PassThrough } from 'node:stream';
import { expect, test } from '@jest/globals';
import { ENVOY_FILES } from '../../../../src/injection/envoy/files.ts';
import { keysFor } from '../../../../src/injection/keys.ts';
import { setUpEnvoyConfiguration } from '../../../../src/injection/webhook/envoy-configuration.ts';
import { setUpPodCache } from '../../../../src/injection/webhook/pod-cache.ts';
import { setUpTemplate } from '../../../../src/injection/webhook/template-setup.ts';
import { CONFIG_MAPS } from '../../../../src/kube/api/core-resources.ts';
import type { KubeClient } from '../../../../src/kube/client/client.ts';
import { RESTORE_MS } from '../../../../src/kube/client/restore-config-map.ts';
import { capturedLog } from '../../../support/kube/captured-log.ts';
import { deleted } from '../../../support/kube/scripted-objects.ts';
import { testManager } from '../../../support/kube/test-manager.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';
import { until } from '../../../support/time/until.ts';

const CONFIG_MAP = {
  metadata: { namespace: 'home', name: 'envoy-initializer', uid: 'uid', resourceVersion: '1' },
  data: { config: 'containers: [{name: envoy, image: "i:v1"}]' },
};

test('a template is proved at the start and after an upgrade of Kubernetes, and restored after deletion', async () => {
  let dryRuns = 0;
  let changes = new PassThrough();
  const [created, events]: [unknown[], unknown[]] = [[], []];
  const client = {
    async request(method: string, path: string) {
      if (path === '/version') return { gitVersion: 'v1.31.0' };
      expect([method, path]).toEqual(['POST', '/api/v1/namespaces/home/pods']);
      dryRuns += 1;
      return {};
    },
    list: async (_: unknown, __: unknown, read: (item: unknown) => unknown) => ({
      items: [read(CONFIG_MAP)],
      resourceVersion: '1',
    }),
    watch(_: unknown, { signal }: { readonly signal: AbortSignal }) {
      const stream = new PassThrough({ objectMode: true });
      signal.addEventListener('abort', () => stream.end());
      changes = stream;
      return stream;
    },
    async create({ kind }: { readonly kind: string }, object: unknown) {
      (kind === 'ConfigMap' ? created : events).push(object);
    },
  } as unknown as KubeClient;
  const clock = new FakeClock();
  const manager = testManager({ client, clock, log: capturedLog().log });
  let minor: number | undefined;
  let changed: (before?: number) => void = () => undefined;
  const template = setUpTemplate(manager, 'home', 'envoy-initializer', keysFor(), {
    current: () => minor,
    onChanged(listener) {
      changed = listener;
    },
  });
  const becomes = (version: number) => {
    const before = minor;
    minor = version;
    changed(before);
  };
  const stop = new AbortController();
  const running = manager.run(stop.signal);
  await until(() => template.hasSynced());
  const atStart = dryRuns;
  expect(atStart).toBeGreaterThan(0);
  // While there is a canary, other new pods do not get them.
  const note = "New pods (in a rollout, the canary's first) get: config";
  await until(() => events.length > 0);
  expect(events).toEqual([expect.objectContaining({ reason: 'TemplateAdopted', note })]);
  becomes(31);
  becomes(32);
  await until(() => dryRuns === 2 * atStart);
  expect(created).toEqual([]);
  changes.write(deleted(CONFIG_MAP));
  const selection = { namespace: 'home', fieldSelector: 'metadata.name=envoy-initializer' };
  const { lister } = manager.informer(CONFIG_MAPS, selection);
  await until(() => lister.size === 0);
  // It may be replaced.
  await clock.advanceAsync(RESTORE_MS);
  expect(created).toEqual([]);
  await clock.advanceAsync(RESTORE_MS);
  expect(created).toEqual([expect.objectContaining({ kind: 'ConfigMap', data: CONFIG_MAP.data })]);
  stop.abort();
  let isOver = false;
  void running.then(() => {
    isOver = true;
  });
  while (!isOver) await clock.advanceAsync(50);
  expect(dryRuns).toBe(2 * atStart);
});

const envoy = (namespace: string, text: string, labels = {}) => ({
  metadata: { namespace, name: 'envoy', uid: namespace, resourceVersion: '1', labels },
  data: { 'envoy.json': text },
});
const SOURCE = envoy('home', 'ours');
const FORGED = envoy('tenant', 'theirs', { 'initializer.kubernetes.io/copy-of': 'home' });

test.each([
  ['with what it had', [SOURCE, FORGED], SOURCE.data],
  ['with the default where this process has never seen it', [FORGED], ENVOY_FILES],
])(
  'the source of Envoy’s configuration is restored %s, and never from what looks like a copy',
  async (_, live, data) => {
    const created: object[] = [];
    let maps = new PassThrough();
    const client = {
      async list({ kind }: { readonly kind: string }, _: unknown, read: (item: unknown) => unknown) {
        return { items: (kind === 'ConfigMap' ? live : []).map(read), resourceVersion: '1' };
      },
      watch({ kind }: { readonly kind: string }, { signal }: { readonly signal: AbortSignal }) {
        const stream = new PassThrough({ objectMode: true });
        if (kind === 'ConfigMap') maps = stream;
        signal.addEventListener('abort', () => stream.end());
        return stream;
      },
      async create(__: unknown, object: object) {
        created.push(object);
        return object;
      },
    } as unknown as KubeClient;
    const clock = new FakeClock();
    const manager = testManager({ client, clock, log: capturedLog().log });
    const keys = keysFor('initializer.kubernetes.io/envoy');
    const pods = setUpPodCache(manager, keys);
    setUpEnvoyConfiguration(manager, 'home', keys, pods);
    const stop = new AbortController();
    const running = manager.run(stop.signal);
    await until(() => pods.hasSynced());
    if (live.includes(SOURCE)) maps.write(deleted(SOURCE));
    for (let i = 0; i < 4; i++) await clock.advanceAsync(RESTORE_MS);
    expect(created[0]).toMatchObject({ kind: 'ConfigMap', metadata: { namespace: 'home' }, data });
    stop.abort();
    let isOver = false;
    void running.then(() => {
      isOver = true;
    });
    while (!isOver) await clock.advanceAsync(50);
  },
);
