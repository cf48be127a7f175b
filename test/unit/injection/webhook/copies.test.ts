import { expect, test } from '@jest/globals';
import { keysFor } from '../../../../src/injection/keys.ts';
import { COPY_LABEL, COPY_MANAGER, copying } from '../../../../src/injection/webhook/envoy-configuration.ts';
import { apiErrorFrom } from '../../../../src/kube/api/api-error.ts';
import type { ConfigMap } from '../../../../src/kube/api/core-resources.ts';

const { signal } = new AbortController();
const source = { metadata: { namespace: 'home', name: 'envoy' }, data: { a: 'b' } };
const keys = keysFor('initializer.kubernetes.io/envoy');
const pod = { metadata: { name: 'a', namespace: 'shop', annotations: { [keys.status]: '{}' } } };

test.each([
  ['exists already', 409, { reason: 'AlreadyExists' }, false],
  ['has no namespace any more', 404, { reason: 'NotFound' }, false],
  ['is denied by a policy', 422, { details: { kind: 'configmaps' } }, true],
  ['is denied by a webhook', 400, { message: 'admission webhook "a" denied the request' }, true],
])(
  "a copy of Envoy's configuration that %s is tried again, or not",
  async (_, status, body, isTriedAgain) => {
    const error = apiErrorFrom(status, body);
    const reconcile = copying({
      client: { create: () => Promise.reject(error), jsonPatch: () => Promise.reject(error) },
      configMaps: { get: (key) => (key === 'home/envoy' ? source : undefined) },
      pods: { list: () => [pod] },
      keys,
      namespace: 'home',
      beforeCreate: async () => undefined,
    });
    const result = await reconcile('shop', signal).catch((err: unknown) => err);
    expect(result).toEqual(isTriedAgain ? error : {});
  },
);

const SOURCE = { metadata: { namespace: 'envoy-initializer', name: 'envoy' }, data: { 'envoy.json': '{}' } };
const wroteData = (manager: string) => ({ manager, fieldsV1: { 'f:data': { 'f:envoy.json': {} } } });
const wroteLabels = (manager: string) => ({ manager, fieldsV1: { 'f:metadata': {} } });

function copy(data: Readonly<Record<string, string>>, more: object = {}): ConfigMap {
  const labels = { [COPY_LABEL]: 'envoy-initializer' };
  const managedFields = [wroteData(COPY_MANAGER)];
  return { metadata: { namespace: 'web', name: 'envoy', labels, managedFields, ...more }, data };
}

interface Situation {
  readonly source: ConfigMap | undefined;
  readonly found: ConfigMap | undefined;
  readonly isNeeded: boolean;
}

const OLD = { 'envoy.json': '{"old": 1}' };

// biome-ignore format: a line for each case
test.each<[string, Situation, 'create' | 'update' | 'nothing']>([
  ['creates a copy that pods need', { source: SOURCE, found: undefined, isNeeded: true }, 'create'],
  ['creates no copy without pods that need it', { source: SOURCE, found: undefined, isNeeded: false }, 'nothing'],
  ['does nothing without a source', { source: undefined, found: undefined, isNeeded: true }, 'nothing'],
  ['keeps the copy when the source is deleted', { source: undefined, found: copy(OLD), isNeeded: true }, 'nothing'],
  ['updates an outdated copy', { source: SOURCE, found: copy(OLD), isNeeded: true }, 'update'],
  ['updates an outdated copy without pods that need it', { source: SOURCE, found: copy(OLD), isNeeded: false }, 'update'],
  ['does nothing about an up-to-date copy', { source: SOURCE, found: copy(SOURCE.data), isNeeded: true }, 'nothing'],
  [
    'updates a copy whose labels another manager wrote',
    {
      source: SOURCE,
      found: copy(OLD, { managedFields: [wroteData(COPY_MANAGER), wroteLabels('kubectl')] }),
      isNeeded: true,
    },
    'update',
  ],
  [
    'keeps a copy whose data another manager wrote',
    {
      source: SOURCE,
      found: copy(OLD, { managedFields: [wroteLabels(COPY_MANAGER), wroteData('kubectl')] }),
      isNeeded: true,
    },
    'nothing',
  ],
  ["keeps a user's own ConfigMap", { source: SOURCE, found: copy(OLD, { labels: {} }), isNeeded: true }, 'nothing'],
  ['ignores a copy that is being deleted', { source: SOURCE, found: copy(OLD, { deletionTimestamp: 'now' }), isNeeded: true }, 'nothing'],
])("the copying of Envoy's configuration %s", async (_, { source, found, isNeeded }, step) => {
  const steps: string[] = [];
  const done = (verb: string) => async (): Promise<never> => {
    steps.push(verb);
    throw apiErrorFrom(409, { reason: 'Conflict' });
  };
  const configMaps = { get: (key: string) => (key === 'envoy-initializer/envoy' ? source : found) };
  const reconcile = copying({
    client: { create: done('create'), jsonPatch: done('update') },
    pods: { list: () => (isNeeded ? [pod] : []) },
    ...{ configMaps, keys, namespace: 'envoy-initializer', beforeCreate: async () => undefined },
  });
  await reconcile('web', signal);
  expect(steps).toEqual(step === 'nothing' ? [] : [step]);
});
