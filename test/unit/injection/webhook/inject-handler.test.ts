import { expect, test } from '@jest/globals';
import { keysFor } from '../../../../src/injection/keys.ts';
import type { TemplateState } from '../../../../src/injection/template/template-set.ts';
import {
  createInjectHandler,
  createWorkloadHandler,
  type InjectionRecord,
} from '../../../../src/injection/webhook/inject-handler.ts';
import { HttpError } from '../../../../src/kube/admission/http-error.ts';
import type { AdmissionRequest } from '../../../../src/kube/admission/review.ts';
import type { JsonObject } from '../../../../src/util/json.ts';
import { podRequest } from '../../../support/injection/admission-review.ts';
import { OPT_IN, podWith, templateSet } from '../../../support/injection/demo.ts';
import { capturedLog } from '../../../support/kube/captured-log.ts';

interface Setting {
  readonly state?: TemplateState;
  readonly labels?: (namespace: string, fresh: boolean) => Promise<Record<string, string>>;
}

function setUp({ state = { set: templateSet() }, labels = async () => ({}) }: Setting = {}) {
  const records: InjectionRecord[] = [];
  const asked: string[] = [];
  const logged = capturedLog();
  let time = 0;
  const handler = createInjectHandler({
    decideOptions: { keys: keysFor(), requireAnnotation: true, operatorNamespace: 'operator' },
    templates: () => state,
    namespaceSettings: async (namespace, { fresh }) => {
      asked.push(fresh ? `${namespace}, fresh` : namespace);
      return { namespaceLabels: await labels(namespace, fresh) };
    },
    observe: (record) => records.push(record),
    log: logged.log,
    now: () => {
      time += 1.5;
      return time;
    },
  });
  const review = (request: Partial<AdmissionRequest> = {}) =>
    handler(podRequest(request), new AbortController().signal);
  return { review, records, asked, logged };
}

const plain = (): JsonObject => podWith({}, { annotations: {}, name: '', generateName: 'myapp-' });
const optedInNamespace = async () => ({ [OPT_IN]: 'true' });

test('createInjectHandler patches a pod that opted in', async () => {
  const { review, records } = setUp();
  expect(await review()).toMatchObject({ allowed: true, operations: { length: 3 } });
  expect(records).toMatchObject([
    { decision: 'injected', reason: undefined, warnings: [], operations: { length: 3 }, milliseconds: 1.5 },
  ]);
});

test('createInjectHandler reads the namespace of the request, not of the object', async () => {
  const { review, asked } = setUp({ labels: optedInNamespace });
  expect(await review({ namespace: 'shop', object: plain() })).toHaveProperty('operations');
  expect(asked).toEqual(['shop']);
});

test('createInjectHandler reads the namespace from the API server before it skips a pod without opt-in', async () => {
  const { review, asked } = setUp({ labels: async (_, fresh) => (fresh ? { [OPT_IN]: 'true' } : {}) });
  expect(await review({ namespace: 'shop', object: plain() })).toHaveProperty('operations');
  expect(asked).toEqual(['shop', 'shop, fresh']);
});

test.each(['UPDATE', 'DELETE', 'CONNECT'])(
  'createInjectHandler skips operation %s without reading the namespace',
  async (operation) => {
    const { review, asked, records } = setUp();
    expect(await review({ operation, object: undefined })).toEqual({
      allowed: true,
      operations: [],
      warnings: [],
    });
    expect(asked).toEqual([]);
    expect(records).toMatchObject([{ decision: 'skipped', reason: 'not-a-pod-create' }]);
  },
);

test('createInjectHandler accepts a pod with 1,000 containers and returns 413 for more', async () => {
  const { review, records } = setUp();
  const containers = Array.from({ length: 1_000 }, (_, i) => ({ name: `app-${i}` }));
  const initContainers = [{ name: 'init' }];
  expect(await review({ object: podWith({ containers }) })).toHaveProperty('operations.length', 3);
  await expect(review({ object: podWith({ containers, initContainers }) })).rejects.toEqual(
    new HttpError(413, 'the pod has 1001 containers: use at most 1000'),
  );
  expect(records).toMatchObject([{ decision: 'injected' }, { decision: 'failed' }]);
});

test.each(['labels', 'annotations'])(
  'createInjectHandler accepts a pod with 10,000 %s and returns 413 for more',
  async (map) => {
    const { review } = setUp();
    const entries = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, '']));
    expect(await review({ object: podWith({}, { [map]: entries(10_000) }) })).toHaveProperty('allowed', true);
    await expect(review({ object: podWith({}, { [map]: entries(10_001) }) })).rejects.toEqual(
      new HttpError(413, `the pod has more than 10000 ${map}: remove some`),
    );
  },
);

test('createInjectHandler fails when the labels of the namespace cannot be read', async () => {
  const failure = new Error('no connection');
  const { review, records } = setUp({ labels: () => Promise.reject(failure) });
  await expect(review()).rejects.toBe(failure);
  expect(records).toMatchObject([{ decision: 'failed', reason: undefined }]);
});

test('createInjectHandler logs one line for each pod, without the content of the pod', async () => {
  const { review, logged } = setUp();
  const env = [{ name: 'PASSWORD', value: 'hunter2' }];
  await review({ object: podWith({ containers: [{ name: 'a', image: 'private', env }] }), dryRun: true });
  await review({ name: undefined, object: plain() });
  expect(logged.lines).toEqual([
    {
      level: 30,
      uid: '0a1b',
      namespace: 'default',
      name: 'myapp-pod',
      decision: 'injected',
      templates: ['config'],
      selectedBy: 'default',
      dryRun: true,
      milliseconds: 1.5,
      operations: 3,
      msg: 'pod handled',
    },
    expect.objectContaining({ name: 'myapp-', decision: 'skipped', reason: 'not-opted-in', dryRun: false }),
  ]);
  expect(JSON.stringify(logged.lines)).not.toMatch(/hunter2|PASSWORD|private/);
});

test('createInjectHandler cuts a long name in its log', async () => {
  const { review, logged } = setUp();
  await review({ name: 'x'.repeat(10_000), object: plain() });
  expect(JSON.stringify(logged.lines).length).toBeLessThan(1_000);
});

// What it says of the pods of workloads: test/integration/injection/injection.test.ts.
test.each([
  ['config', []],
  [
    'confg',
    [
      `pods in this namespace get no sidecar: unknown-template: the namespace's annotation ${OPT_IN}-templates names template "confg", which does not exist: use another, or add it to the ConfigMap`,
    ],
  ],
])(
  'createInjectHandler warns the author of a Namespace that selects the template %s',
  async (selected, warnings) => {
    const handler = createWorkloadHandler({
      decideOptions: { keys: keysFor(), requireAnnotation: true, operatorNamespace: 'operator' },
      templates: () => ({ set: templateSet() }),
      namespaceSettings: async () => ({ namespaceLabels: {} }),
    });
    const object = { metadata: { name: 'new', annotations: { [`${OPT_IN}-templates`]: selected } } };
    const review = podRequest({ kind: { group: '', version: 'v1', kind: 'Namespace' }, object });
    expect(await handler(review, new AbortController().signal)).toEqual({ allowed: true, warnings });
  },
);
