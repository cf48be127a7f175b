import { expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import { setUpDrift } from '../../../../src/addons/drift/setup.ts';
import { keysFor } from '../../../../src/injection/keys.ts';
import { POD_INDEXERS } from '../../../../src/injection/webhook/pod-cache.ts';
import type { KubeObject } from '../../../../src/kube/api/object.ts';
import type { Reconcile } from '../../../../src/kube/controller/controller.ts';
import type { Manager } from '../../../../src/kube/manager/manager.ts';
import type { Core } from '../../../../src/operator/core.ts';
import { templateSet } from '../../../support/injection/demo.ts';
import { FakeInformer } from '../../../support/kube/fake-informer.ts';
import { memoryLog } from '../../../support/kube/memory-log.ts';

const TEMPLATE = 'containers: [{name: envoy, image: a}]';
const keys = keysFor();
const decideOptions = { keys, requireAnnotation: false, operatorNamespace: 'envoy-initializer' };

test.each<[string, object, object, 0 | 1]>([
  ['one without the sidecar that it asks for', {}, {}, 1],
  ['one in the network of its node, which gets none', {}, { hostNetwork: true }, 0],
  ['one that does not ask', { labels: { [keys.optIn]: 'false' } }, {}, 0],
  ['one of another namespace, whose author names the controller', { namespace: 'other' }, {}, 0],
])('the repair of all stops after a replacement: %s: %s', async (_, metadata, spec, expected) => {
  const pods = new FakeInformer<KubeObject>(POD_INDEXERS);
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'web', controller: true };
  const whole = (uid: string, more = {}) => ({
    metadata: {
      ...{ namespace: 'plain', name: uid, uid, creationTimestamp: new Date().toISOString() },
      ...{ ownerReferences: [owner], ...more },
    },
    spec: { containers: [{ name: 'app' }], ...(uid === 'old' ? {} : spec) },
  });
  const { signal } = new AbortController();
  const controllers = new Map<string, Reconcile>();
  const registry = new Registry();
  const manager = {
    leaderClient: {
      get: async (_resource: unknown, { name = '' }) => whole(name, name === 'old' ? {} : metadata),
      request: async () => undefined,
    },
    controller: (name: string) => ({
      queue: { add: () => undefined },
      reconcile: (reconcile: Reconcile) => controllers.set(name, reconcile),
    }),
    events: { event: () => undefined },
    registry,
    log: memoryLog().log,
  } as unknown as Manager;
  const core = {
    template: {
      templates: { state: { set: templateSet({ config: TEMPLATE }) } },
      onAdopted: () => undefined,
    },
    namespaces: { cached: () => ({ namespaceLabels: {} }), onChanged: () => undefined },
    pods,
    decideOptions,
  } as unknown as Core;
  setUpDrift(manager, core, { repair: 'evict', repairWindow: 60_000 });
  const reconcile = (name: string, key: string) => controllers.get(name)?.(key, signal);
  pods.set(whole('old'));
  await reconcile('drift', 'plain/old');
  await reconcile('repair', 'plain/old');
  pods.set(whole('new', metadata));
  await reconcile('drift', `${{ namespace: 'plain', ...metadata }.namespace}/new`);
  expect(await registry.metrics()).toContain(`envoy_initializer_repair_stopped ${expected}\n`);
});
