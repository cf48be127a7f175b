import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { JsonObject } from '../../../src/util/json.ts';
import { eventually } from '../../env/eventually.ts';
import { podReview } from '../../support/injection/admission-review.ts';
import { HttpsClient } from '../../support/kube/https-client.ts';
import { type OperatorFixture, startOperatorFixture } from '../../support/operator/operator-fixture.ts';

const KEY = 'initializer.kubernetes.io/envoy';
const OPTED_IN = { [KEY]: 'true' };
/** How many callers send reviews at once. */
const CALLERS = 20;
let fixture: OperatorFixture;
let client: HttpsClient;

beforeAll(async () => {
  fixture = await startOperatorFixture({ auditLog: 'Metadata' });
  client = new HttpsClient(Number(new URL(fixture.operator.webhookUrl).port), fixture.operator.caPem);
});

afterAll(async () => {
  client?.disconnect();
  await fixture?.stop();
});

async function review(path: string, request: JsonObject): Promise<{ status: number; body: string }> {
  return client.call(path, JSON.stringify(podReview({ name: '', ...request })));
}

/** Sends so many reviews, some at a time: how often each HTTP status was the answer. */
async function reviews(count: number, path: string, forge: (index: number) => JsonObject) {
  const statuses: Record<number, number> = {};
  let next = 0;
  const caller = async () => {
    while (next < count) {
      const { status } = await review(path, forge(next++));
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return statuses;
}

/** The requests of the operator to the API server whose verb and URI match. */
async function requests(wanted: RegExp): Promise<number> {
  const lines = (await readFile(fixture.controlPlane.auditLogPath, 'utf8')).trim().split('\n');
  return lines
    .map((line) => JSON.parse(line))
    .filter(({ user }) => user.username === 'system:serviceaccount:envoy-initializer:envoy-initializer')
    .filter(({ verb, requestURI }) => wanted.test(`${verb} ${requestURI}`)).length;
}

/** How many requests came of it, and the seconds in which they came. */
async function requestsOf(wanted: RegExp, act: () => Promise<unknown>) {
  const [before, at] = [await requests(wanted), performance.now()];
  await act();
  return { count: (await requests(wanted)) - before, seconds: (performance.now() - at) / 1000 };
}

const spec = {
  containers: [{ name: 'app', image: 'busybox' }],
  volumes: [{ name: 'envoy-conf', emptyDir: {} }],
};

function podOf(ownerReferences: readonly JsonObject[], more: JsonObject = {}): JsonObject {
  return { metadata: { annotations: OPTED_IN, ownerReferences: [...ownerReferences], ...more }, spec };
}

const ownerOf = (name: string, uid: string): JsonObject => ({
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  name,
  uid,
  controller: true,
});

/** The objects of our Events in `default`. */
async function regarded(): Promise<readonly string[]> {
  const { items } = JSON.parse(await fixture.kubectl('get', 'events', '-n', 'default', '-o', 'json'));
  return items
    .filter((item: { reportingComponent: string }) => item.reportingComponent === 'envoy-initializer')
    .map((item: { involvedObject: { kind: string; name: string } }) => item.involvedObject)
    .map(({ kind, name }: { kind: string; name: string }) => `${kind} ${name}`)
    .toSorted();
}

test('300 reviews of pods of forged owners: there are Events of what is there, and of nothing else', async () => {
  const forged = (index: number) => ({
    object: podOf([ownerOf(`made-up-${index}`, `made-up-${index}`)], { generateName: 'made-up-' }),
  });
  expect(await reviews(300, '/inject', forged)).toEqual({ 200: 300 });
  // What comes behind them in the queue is written: one of a pod, and one of a pod's owner.
  await fixture.apply({
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: { name: 'real', namespace: 'default' },
    spec: {
      replicas: 0,
      selector: { matchLabels: { app: 'real' } },
      template: { metadata: { labels: { app: 'real' } }, spec },
    },
  });
  const uid = await fixture.kubectl('get', 'replicaset', 'real', '-o', 'jsonpath={.metadata.uid}');
  const pod = { apiVersion: 'v1', kind: 'Pod' };
  const labels = { app: 'real' };
  await fixture.apply(
    { ...pod, ...podOf([ownerOf('real', uid)], { name: 'owned', namespace: 'default', labels }) },
    { ...pod, ...podOf([], { name: 'alone', namespace: 'default' }) },
  );
  const wanted = ['Pod alone', 'ReplicaSet real'];
  await eventually('there are Events of them', async () => {
    const found = await regarded();
    expect(found.filter((each) => !wanted.includes(each))).toEqual([]);
    return found.length === wanted.length;
  });
});

test('300 reviews of forged namespaces: requests come by their rate, and the rest is refused', async () => {
  const forged = (index: number) => ({ namespace: `made-up-${index}`, object: podOf([]) });
  let statuses: Record<number, number> = {};
  const { count, seconds } = await requestsOf(/^get .*\/namespaces\/made-up/, async () => {
    statuses = await reviews(300, '/inject', forged);
  });
  expect(count).toBeGreaterThan(0);
  expect(count).toBeLessThanOrEqual(20 + 10 * seconds + 1);
  expect(statuses).toEqual({ 500: count, 503: 300 - count });
});

test('300 reviews of pods that ask for nothing share requests, and are answered', async () => {
  let statuses: Record<number, number> = {};
  const { count, seconds } = await requestsOf(/^get .*\/namespaces\/default/, async () => {
    statuses = await reviews(300, '/inject', () => ({ object: { metadata: {}, spec } }));
  });
  expect(statuses).toEqual({ 200: 300 });
  expect(count).toBeGreaterThan(0);
  expect(count).toBeLessThanOrEqual(seconds / 0.25 + 1);
});

test('200 reviews of pods with five Networks each: one list at a time does for all of a namespace', async () => {
  const asked = { 'samplecrd.k8s.io/network': 'one, two, three, four, five' };
  const forged = () => ({ object: { metadata: { annotations: asked }, spec: { ...spec, nodeName: 'a' } } });
  let statuses: Record<number, number> = {};
  const { count, seconds } = await requestsOf(/^(get|list) .*\/networks/, async () => {
    statuses = await reviews(200, '/attach', forged);
  });
  expect(statuses).toEqual({ 200: 200 });
  expect(count).toBeGreaterThan(0);
  expect(count).toBeLessThanOrEqual(seconds / 0.25 + 1);
});

test('200 reviews of ConfigMaps with 50 templates: dry runs come by their rate', async () => {
  const text = (index: number) => `containers: [{name: envoy, image: "i:v${index}"}]`;
  const forged = (index: number) => {
    const further = Array.from({ length: 49 }, (_, i) => [`config.t${i}`, text(index)]);
    const name = 'envoy-initializer';
    return {
      kind: { group: '', version: 'v1', kind: 'ConfigMap' },
      resource: { group: '', version: 'v1', resource: 'configmaps' },
      namespace: name,
      name,
      object: { metadata: { name }, data: { config: text(index), ...Object.fromEntries(further) } },
    };
  };
  const { count, seconds } = await requestsOf(/^create .*\/pods\?dryRun=All/, async () => {
    expect(await reviews(200, '/validate', forged)).toEqual({ 200: 200 });
  });
  expect(count).toBeGreaterThan(0);
  expect(count).toBeLessThanOrEqual(300 + 10 * seconds + 1);
});

test('a pod is injected beside forged reviews whose namespace was labelled a moment before', async () => {
  const pod = { object: { metadata: {}, spec: { containers: spec.containers } } };
  for (let round = 0; round < 5; round += 1) {
    const namespace = `late-${round}`;
    await fixture.kubectl('create', 'namespace', namespace);
    const asking = reviews(60, '/inject', () => ({ namespace, ...pod }));
    await fixture.kubectl('label', 'namespace', namespace, `${KEY}=true`);
    const { body } = await review('/inject', { namespace, ...pod });
    expect(JSON.parse(body).response.patchType).toBe('JSONPatch');
    expect(Object.keys(await asking)).toEqual(['200']);
  }
});
