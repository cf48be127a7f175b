import { expect, test } from '@jest/globals';
import { keysFor } from '../../../../src/injection/keys.ts';
import { nameOf } from '../../../../src/injection/podspec/pod.ts';
import { templateDryRun } from '../../../../src/injection/webhook/template-dry-run.ts';
import { apiErrorFrom, TransportError } from '../../../../src/kube/api/api-error.ts';
import type { RequestOptions } from '../../../../src/kube/client/rest-client.ts';
import { formatInText } from '../../../../src/util/diagnostic.ts';
import { type JsonObject, own, ownObjects, ownString } from '../../../../src/util/json.ts';
import { templateSet } from '../../../support/injection/demo.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

const PLAIN = 'envoy-initializer-proof';
const GOOD = 'containers:\n- name: good\n  image: i:v1\n';
const BAD = 'containers:\n- name: bad\n  image: i:v1\n';

/** The answer to the dry run of a pod: the pod, or an error that is thrown. */
type Answer = (pod: JsonObject, signal: AbortSignal | undefined) => unknown;

function setUp(answer: Answer) {
  const clock = new FakeClock();
  const asked: JsonObject[] = [];
  const client = {
    async request(method: string, path: string, options: RequestOptions = {}) {
      if (path === '/version') return { gitVersion: 'v1.31.0' };
      expect([method, path, options.query]).toEqual([
        'POST',
        '/api/v1/namespaces/ours/pods',
        { dryRun: 'All', fieldValidation: 'Strict' },
      ]);
      const pod = options.body as JsonObject;
      asked.push(pod);
      return await answer(pod, options.signal);
    },
  };
  const dryRun = templateDryRun(client, clock, keysFor(), 'ours');
  const { signal } = new AbortController();
  const prove = async (texts: Record<string, string>) => {
    const { set, faults, inconclusive } = await dryRun.prove(templateSet(texts), 1_000, signal);
    const incompatibleShapes = [...set.templates.values()].flatMap((each) => each.incompatibleShapes);
    return { faults: faults.map(formatInText), inconclusive, incompatibleShapes };
  };
  return { dryRun, prove, clock, asked, signal };
}

const namesOf = (pod: JsonObject) => ownObjects(own(pod, 'spec'), 'containers').map(nameOf);
const has = (pod: JsonObject, name: string) => namesOf(pod).includes(name);
const invalid = (...fields: readonly string[]) =>
  apiErrorFrom(422, {
    message: 'Pod is invalid',
    details: {
      kind: 'Pod',
      causes: fields.map((field) => ({ reason: 'FieldValueInvalid', field, message: 'no' })),
    },
  });
const status = (code: number, message: string) => apiErrorFrom(code, { message, details: { kind: 'pods' } });
const refuseBad =
  (error: Error): Answer =>
  (pod) => {
    if (has(pod, 'bad')) throw error;
    return pod;
  };

test('a template is proved by a plain pod and one of each shape, which the webhook skips', async () => {
  const { prove, asked } = setUp((pod) => pod);
  expect(await prove({ config: GOOD })).toEqual({ faults: [], inconclusive: [], incompatibleShapes: [] });
  // Pods that are meant to finish have a native sidecar.
  const native = [[PLAIN], [PLAIN]];
  expect(asked.map(namesOf)).toEqual([[PLAIN, 'good'], ...native, ...Array(3).fill([PLAIN, 'good'])]);
  const labels = asked.map((pod) => ownString(own(own(pod, 'metadata'), 'labels'), keysFor().optIn));
  expect(labels).toEqual(Array(6).fill('false'));
});

test.each([
  'pods "a" is forbidden: violates PodSecurity "restricted:latest": hostPort',
  'pods "a" is forbidden: exceeded quota: q, requested: pods=1',
  'pods "a" is forbidden: failed quota: q: must specify limits.cpu',
  "pods \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
])('a template is proved by an admission plugin that runs after validation: %s', async (message) => {
  const { prove } = setUp(refuseBad(status(403, message)));
  expect(await prove({ config: BAD })).toEqual({ faults: [], inconclusive: [], incompatibleShapes: [] });
});

test('a template that the API server refuses has a fault for each field', async () => {
  const { prove } = setUp(refuseBad(invalid('spec.containers[1].image', 'spec.hostname')));
  const said = 'the API server refuses a pod with this template';
  expect(await prove({ config: GOOD, 'config.other': `spec:\n  ${BAD.replaceAll('\n', '\n  ')}` })).toEqual({
    faults: [
      `config.other: ${said}: spec.containers[name=bad].image: no`,
      `config.other: ${said}: spec.hostname: no`,
    ],
    inconclusive: [],
    incompatibleShapes: [],
  });
});

test('a template has a fault for each field that the API server does not have, with its version', async () => {
  const fields = ['spec.containers[1].resizePolicy', 'spec.x'].map((field) => `unknown field "${field}"`);
  const message = `Pod in version "v1" cannot be handled as a Pod: strict decoding error: ${fields.join(', ')}`;
  const { prove } = setUp(refuseBad(status(400, message)));
  const said = 'the API server refuses a pod with this template';
  expect((await prove({ config: `${BAD}  resizePolicy: []\n` })).faults).toEqual([
    `config: ${said}: spec.containers[name=bad].resizePolicy: Kubernetes v1.31.0 does not have this field`,
    `config: ${said}: spec.x: Kubernetes v1.31.0 does not have this field`,
  ]);
});

test('a template that the API server refuses is tried again', async () => {
  const { prove, asked } = setUp(refuseBad(invalid('spec.containers[1].image')));
  await prove({ config: BAD });
  const before = asked.length;
  await prove({ config: BAD });
  expect(asked).toHaveLength(2 * before);
});

test('a template that the API server refuses only in pods of a shape is a misfit, in its words', async () => {
  const { prove } = setUp((pod) => {
    if (has(pod, 'bad') && own(own(pod, 'spec'), 'hostIPC') === true)
      throw invalid('spec.containers[1].image');
    return pod;
  });
  const message = 'spec.containers[name=bad].image: no';
  expect(await prove({ config: BAD })).toMatchObject({
    faults: [],
    inconclusive: [],
    incompatibleShapes: [{ shape: { name: 'spec.hostIPC: true' }, message }],
  });
});

test.each<[string, Error]>([
  ['the account may not create pods', status(403, 'pods is forbidden: cannot create resource "pods"')],
  ['a webhook fails', status(500, 'failed calling webhook "a.example.com": timeout')],
  ['a policy answers 422, without a field', status(422, 'denied')],
  ['a webhook answers 400', status(400, 'admission webhook "a" denied the request')],
  ['there is no answer', new TransportError('POST: connection reset', 'ECONNRESET', undefined)],
])('a template is adopted with a doubt if %s', async (_, error) => {
  const { prove } = setUp(refuseBad(error));
  expect(await prove({ config: BAD })).toEqual({
    faults: [],
    inconclusive: [error.message],
    incompatibleShapes: [],
  });
});

test('a template is adopted with a doubt if the API server refuses a pod without it, too', async () => {
  const { prove } = setUp((pod) => {
    throw has(pod, 'bad') ? invalid('spec.containers[1].image') : status(500, 'webhook "a" failed');
  });
  expect((await prove({ config: BAD })).inconclusive).toEqual([
    expect.stringMatching(
      /^the API server refuses even a plain pod: webhook "a" failed; with template config: Pod is invalid$/,
    ),
  ]);
});

test('a template is adopted with a doubt if a LimitRange changes the pods of the namespace', async () => {
  const { prove } = setUp((pod) => {
    if (has(pod, 'bad')) throw invalid('spec.containers[1].resources.requests');
    return {
      metadata: { annotations: { 'kubernetes.io/limit-ranger': 'LimitRanger plugin set: cpu limit' } },
    };
  });
  expect(await prove({ config: BAD })).toMatchObject({
    faults: [],
    inconclusive: [
      expect.stringMatching(/^a LimitRange changes the pods in namespace ours; with template config: /),
    ],
  });
});

test('a template is adopted with a doubt if reviews have used up their dry runs, until time has passed', async () => {
  const { dryRun, prove, asked, clock, signal } = setUp(() => {
    throw status(422, 'no');
  });
  const many = Object.fromEntries(Array.from({ length: 49 }, (_, i) => [`config.t${i}`, GOOD] as const));
  const review = async () =>
    (await dryRun.review(templateSet({ config: GOOD, ...many }), signal)).inconclusive.join();
  const tooMany = /too many templates are under review: this one is tested when it is adopted$/;
  for (let i = 0; i < 6; i++) expect(await review()).toBe('no');
  expect(await review()).toMatch(tooMany);
  expect(asked).toHaveLength(300);
  clock.advance(1_000);
  expect(await review()).toMatch(tooMany);
  expect(asked).toHaveLength(310);
  expect((await prove({ config: GOOD })).inconclusive).toEqual(['no']);
});
