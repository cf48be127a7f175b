import { expect, test } from '@jest/globals';
import { Sidecars } from '../../../../../src/addons/routes/delivery/sidecars.ts';
import { apiErrorFrom } from '../../../../../src/kube/api/api-error.ts';
import type { KubeObject } from '../../../../../src/kube/api/object.ts';
import { requesting } from '../../../../support/kube/requesting.ts';
import { FakeClock } from '../../../../support/time/fake-clock.ts';

const POD: KubeObject = { metadata: { name: 'a', namespace: 'shop', uid: 'uid' } };
const signal = new AbortController().signal;

/** A sidecar that answers `version`, or nothing. Its kubelet mounts `mounted` at the n-th touch. */
function setUp({ touch = true }: { touch?: boolean } = {}) {
  const clock = new FakeClock();
  const pod = {
    version: 'old' as string | undefined,
    address: '10.0.0.1' as string | undefined,
  };
  const touches: unknown[] = [];
  /** Of the next touches. */
  const failures: Error[] = [];
  let asked = 0;
  const seconds: number[] = [];
  const refusals: string[] = [];
  const sidecars = new Sidecars({
    client: requesting(async (method, path, { body, accept } = {}) => {
      if (method === 'GET') return { ...POD, status: { podIP: pod.address } };
      const failure = failures.shift();
      if (failure) throw failure;
      touches.push({ path, body, accept });
      return POD;
    }),
    pods: { get: () => POD, byIndex: () => [POD] },
    touch,
    ask: async () => {
      asked += 1;
      return pod.version;
    },
    now: () => clock.now(),
    recount: () => undefined,
    wallClock: () => new Date(clock.now()),
    taken: (value) => seconds.push(value),
    refused: (_, { message }) => refusals.push(message),
  });
  /** Reconciles until there is no more to do, `ms` at most. */
  const settle = async (ms: number) => {
    const end = clock.now() + ms;
    while (clock.now() < end) {
      const { requeueAfterMs } = await sidecars.reconcile('shop/a', signal);
      if (requeueAfterMs === undefined) return 'settled';
      clock.advance(requeueAfterMs);
    }
    return 'busy';
  };
  return { clock, pod, touches, failures, asked: () => asked, seconds, refusals, sidecars, settle };
}

test('a sidecar that runs the file of routes is left alone', async () => {
  const { pod, touches, sidecars, settle } = setUp();
  sidecars.delivered('shop', 'new', true);
  pod.version = 'new';
  expect(await settle(1000)).toBe('settled');
  expect(touches).toEqual([]);
  expect([...sidecars.tally('shop')]).toEqual([['new', 1]]);
});

test('a sidecar whose file is not in place yet is neither asked nor touched', async () => {
  const { touches, sidecars, settle } = setUp();
  expect(await settle(1000)).toBe('settled');
  expect({ touches, tally: [...sidecars.tally('shop')] }).toEqual({ touches: [], tally: [] });
});

test('a sidecar that runs an older file is touched, and asks for no pod in the answer', async () => {
  const { clock, pod, touches, seconds, sidecars, settle } = setUp();
  sidecars.delivered('shop', 'new', true);
  await sidecars.reconcile('shop/a', signal);
  expect(touches).toEqual([
    {
      path: '/api/v1/namespaces/shop/pods/a',
      body: {
        metadata: {
          uid: 'uid',
          annotations: { 'initializer.kubernetes.io/envoy-routes': 'new 1970-01-01T00:00:00.000Z' },
        },
      },
      accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
    },
  ]);
  expect(sidecars.behind()).toBe(1);
  clock.advance(1500);
  pod.version = 'new';
  expect(await settle(1000)).toBe('settled');
  expect({ seconds, behind: sidecars.behind() }).toEqual({ seconds: [1.5], behind: 0 });
});

test('a touch of a sidecar that the API server refuses does not count', async () => {
  const { touches, failures, sidecars } = setUp();
  sidecars.delivered('shop', 'old', false);
  await sidecars.reconcile('shop/a', signal);
  sidecars.delivered('shop', 'new', true);
  const refused = new Error('429');
  failures.push(refused, refused, refused, refused, refused, refused);
  for (const _ of [...failures]) await expect(sidecars.reconcile('shop/a', signal)).rejects.toBe(refused);
  await sidecars.reconcile('shop/a', signal);
  expect(touches).toHaveLength(1);
});

test('a sidecar that stays old is touched five times, each time later and with another text', async () => {
  const { clock, touches, sidecars, settle } = setUp();
  sidecars.delivered('shop', 'new', true);
  expect(await settle(600_000)).toBe('settled');
  expect(new Set(touches.map((each) => JSON.stringify(each))).size).toBe(5);
  expect(clock.now()).toBeGreaterThan(90_000);
});

test('a sidecar that never answers is touched twice, and left after a while', async () => {
  const { pod, touches, sidecars, settle } = setUp();
  pod.version = undefined;
  sidecars.delivered('shop', 'new', true);
  expect(await settle(600_000)).toBe('settled');
  expect(touches).toHaveLength(2);
  expect([...sidecars.tally('shop')]).toEqual([]);
});

test('a sidecar that has not started waits for its next update', async () => {
  const { pod, touches, sidecars, settle } = setUp();
  pod.address = undefined;
  sidecars.delivered('shop', 'new', true);
  expect(await settle(1000)).toBe('settled');
  expect(touches).toEqual([]);
});

test('a sidecar without touches is asked until the kubelet has mounted the file', async () => {
  const { clock, pod, touches, sidecars, settle } = setUp({ touch: false });
  sidecars.delivered('shop', 'new', true);
  expect(await settle(90_000)).toBe('busy');
  pod.version = 'new';
  clock.advance(1);
  expect(await settle(1000)).toBe('settled');
  expect(touches).toEqual([]);
});

test('a namespace is surveyed when each of its sidecars was asked, and again in the next term', async () => {
  const { clock, pod, sidecars } = setUp();
  const isSurveyed = () => {
    clock.advance(250);
    return sidecars.isSurveyed(() => ['shop']);
  };
  expect(isSurveyed()).toBe(false);
  sidecars.delivered('shop', 'new', false);
  expect(isSurveyed()).toBe(false);
  pod.version = undefined;
  await sidecars.reconcile('shop/a', signal);
  expect(isSurveyed()).toBe(true);
  sidecars.clear();
  expect(isSurveyed()).toBe(false);
});

test('a namespace whose file of routes is never in place holds up the numbers for 30 s', () => {
  const { clock, sidecars } = setUp();
  expect(sidecars.isSurveyed(() => ['shop'])).toBe(false);
  clock.advance(29_999);
  expect(sidecars.isSurveyed(() => ['shop'])).toBe(false);
  clock.advance(1);
  expect(sidecars.isSurveyed(() => ['shop'])).toBe(true);
});

test('sidecars that never answer do not take all workers from those that do', async () => {
  const podOf = (name: string): KubeObject => ({ metadata: { name, namespace: 'shop', uid: name } });
  const silent = Array.from({ length: 40 }, (_, index) => `silent-${index}`);
  const clock = new FakeClock();
  const waiting: (() => void)[] = [];
  const asked: string[] = [];
  const sidecars = new Sidecars({
    client: requesting(async (_, path) => {
      const name = path.split('/').at(-1) ?? '';
      return { ...podOf(name), status: { podIP: name } };
    }),
    pods: { get: (key) => podOf(key.split('/')[1] ?? ''), byIndex: () => [] },
    touch: false,
    ask: async (address) => {
      asked.push(address);
      if (!address.startsWith('silent')) return 'new';
      await new Promise<void>((resolve) => waiting.push(resolve));
      return undefined;
    },
    now: () => clock.now(),
    recount: () => undefined,
    wallClock: () => new Date(0),
    taken: () => undefined,
    refused: () => undefined,
  });
  sidecars.delivered('shop', 'new', true);
  const round = async () => {
    asked.length = 0;
    clock.advance(10_000);
    const results = silent.map((name) => sidecars.reconcile(`shop/${name}`, signal));
    await new Promise((resolve) => setImmediate(resolve));
    const count = asked.length;
    expect(await sidecars.reconcile('shop/well', signal)).toEqual({});
    for (const answer of waiting.splice(0)) answer();
    return { count, results: await Promise.all(results) };
  };
  expect((await round()).count).toBe(40);
  const { count, results } = await round();
  expect(count).toBe(24);
  // They come again, not all at once.
  expect(new Set(results.slice(24).map(({ requeueAfterMs }) => requeueAfterMs)).size).toBe(16);
  expect((await round()).count).toBe(24);
});

test('a sidecar whose pod may not be touched is asked on, and the refusal is reported', async () => {
  const { pod, failures, asked, refusals, sidecars, settle } = setUp();
  sidecars.delivered('shop', 'old', false);
  await settle(1000);
  failures.push(
    ...Array.from({ length: 20 }, () => apiErrorFrom(422, { details: { kind: 'pods' }, message: 'no' })),
  );
  sidecars.delivered('shop', 'new', true);
  const before = asked();
  await settle(20_000);
  expect([asked() > before, refusals[0]]).toEqual([true, 'no']);
  pod.version = 'new';
  expect(await settle(60_000)).toBe('settled');
});
