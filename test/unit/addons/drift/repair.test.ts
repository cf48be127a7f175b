import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import { RepairBreaker, repairReconcile, spared } from '../../../../src/addons/drift/repair.ts';
import type { CachedPod } from '../../../../src/injection/webhook/pod-cache.ts';
import { ApiError } from '../../../../src/kube/api/api-error.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const rules = { windowMs: 15 * 60_000, busy: new Set(['shop/busy']), now: NOW };

function pod(more: object = {}, owner: object = {}) {
  const ownerReferences = [
    { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'web', controller: true, ...owner },
  ];
  return { metadata: { name: 'web-1', creationTimestamp: '2026-01-01T11:59:00Z', ownerReferences, ...more } };
}

test.each<[string, ReturnType<typeof pod>, string | undefined]>([
  ['a young pod of a workload', pod(), undefined],
  ['a standalone pod', pod({ ownerReferences: [] }), 'no-controller'],
  ['a pod that is owned but not controlled', pod({}, { controller: false }), 'no-controller'],
  ['a pod of a Job', pod({}, { kind: 'Job' }), 'job'],
  ['a pod that is being deleted', pod({ deletionTimestamp: '2026-01-01T12:00:00Z' }), 'going'],
  ['a pod from before the window', pod({ creationTimestamp: '2026-01-01T11:44:59Z' }), 'too-old'],
  ['a pod at the end of the window', pod({ creationTimestamp: '2026-01-01T11:45:00Z' }), undefined],
  ['the next pod of a workload', pod({ namespace: 'shop' }, { uid: 'busy' }), 'workload-busy'],
  [
    'a pod that names the owner of another namespace',
    pod({ namespace: 'other' }, { uid: 'busy' }),
    undefined,
  ],
])('the repair spares %s: %s', (_, candidate, reason) => {
  expect(spared(candidate, rules.windowMs, rules.busy, rules.now)).toBe(reason);
});

describe('RepairBreaker', () => {
  let breaker: RepairBreaker;
  const back = (uid: string, injected: boolean, createdAt = NOW) =>
    breaker.seen(uid, { uid: `${uid}-new`, createdAt, injected }, NOW);

  beforeEach(() => {
    breaker = new RepairBreaker();
  });

  test('RepairBreaker allows one eviction and waits for the replacement', () => {
    expect(breaker.mayEvict(NOW)).toBe(true);
    breaker.evicting('a', new Set(['a-old', 'a-sibling']), NOW);
    expect(breaker.mayEvict(NOW)).toBe(false);
    expect(breaker.busy).toEqual(new Set(['a']));
  });

  test('RepairBreaker doubles the limit after each replacement with a sidecar, up to eight workloads', () => {
    const widths: number[] = [];
    for (let round = 0; round < 5; round += 1) {
      let width = 0;
      for (; breaker.mayEvict(NOW); width += 1) breaker.evicting(`${round}-${width}`, new Set(['old']), NOW);
      widths.push(width);
      for (let n = 0; n < width; n += 1) back(`${round}-${n}`, true);
    }
    expect(widths).toEqual([1, 2, 8, 8, 8]);
  });

  test('RepairBreaker stops at a replacement without a sidecar, until a later pod has one', () => {
    breaker.evicting('a', new Set(['a-old', 'a-sibling']), NOW);
    back('a', false);
    expect(breaker.mayEvict(NOW)).toBe(false);
    expect(breaker.stopped).toBe(
      'the replacement of an evicted pod has no sidecar, or lacks its status annotation',
    );
    back('z', true, NOW);
    expect(breaker.mayEvict(NOW)).toBe(false);
    back('z', true, NOW + 1);
    expect(breaker.stopped).toBeUndefined();
    expect(breaker.mayEvict(NOW)).toBe(true);
  });

  test('RepairBreaker goes on after a replacement that asks for no sidecar', () => {
    breaker.evicting('a', new Set(['a-old']), NOW);
    expect(breaker.seen('a', { uid: 'a-new', createdAt: NOW, injected: undefined }, NOW)).toBe(true);
    expect([breaker.stopped, breaker.mayEvict(NOW)]).toEqual([undefined, true]);
  });

  test('RepairBreaker allows a trial ten seconds after a stop, then after twenty, and so on', () => {
    for (const [round, wait] of [10_000, 20_000, 40_000].entries()) {
      breaker.evicting(`${round}`, new Set(['old']), NOW);
      back(`${round}`, false);
      expect(breaker.mayEvict(NOW + wait - 1)).toBe(false);
      expect(breaker.mayEvict(NOW + wait)).toBe(true);
    }
    breaker.evicting('next', new Set(['old']), NOW + 40_000);
    expect(breaker.mayEvict(NOW + 40_000)).toBe(false);
  });

  test('RepairBreaker gives up a workload that creates no pod, without a stop', () => {
    breaker.evicting('a', new Set(['a-old', 'a-sibling']), NOW);
    breaker.giveUp(NOW);
    expect(breaker.mayEvict(NOW)).toBe(false);
    breaker.giveUp(NOW + 1);
    expect(breaker.mayEvict(NOW)).toBe(true);
    expect(breaker.stopped).toBeUndefined();
  });
});

describe('repairReconcile', () => {
  let breaker: RepairBreaker;
  const old = pod({ namespace: 'default', uid: 'old' });
  /** Repairs the pod, with this answer to the eviction. */
  const repair = (
    request: (...call: readonly unknown[]) => Promise<never>,
    siblings: readonly CachedPod[] = [],
    candidate = old,
  ) =>
    repairReconcile({
      client: { request },
      breaker,
      missed: (key) => (key === 'default/web-1' ? candidate : undefined),
      podsOf: () => [candidate, ...siblings],
      windowMs: rules.windowMs,
      unhealthy: () => undefined,
      events: { event: () => undefined },
      onObstacle: () => undefined,
      now: () => NOW,
    })('default/web-1', new AbortController().signal);

  beforeEach(() => {
    breaker = new RepairBreaker();
  });

  test.each([true, false])(
    'repairReconcile sees a replacement that comes before the answer to the eviction (with a sidecar: %s)',
    async (injected) => {
      await repair(async () => {
        breaker.seen('default/web', { uid: 'new', createdAt: NOW, injected }, NOW);
        return undefined as never;
      });
      expect(breaker.busy.size).toBe(0);
      expect(breaker.stopped !== undefined).toBe(!injected);
    },
  );

  const younger = { namespace: 'default', name: 'web-2', creationTimestamp: '2026-01-01T11:59:30Z' };
  test.each<[string, CachedPod, number]>([
    ['that is not Ready', pod(younger), 0],
    ['of the same second', pod({ ...younger, creationTimestamp: '2026-01-01T11:59:00Z' }), 0],
    ['that is Ready', { ...pod(younger), isReady: true }, 1],
    ['that goes', pod({ ...younger, deletionTimestamp: '2026-01-01T11:59:40Z' }), 1],
    ['that is older', pod({ ...younger, creationTimestamp: '2026-01-01T11:58:00Z' }), 1],
  ])('repairReconcile with a replacement %s', async (_, sibling, evictions) => {
    const request = jest.fn(async () => undefined as never);
    expect(await repair(request, [sibling])).toEqual(evictions === 0 ? { requeueAfterMs: 2000 } : {});
    expect(request).toHaveBeenCalledTimes(evictions);
  });

  test('repairReconcile waits for no replacement that has not become Ready for long', async () => {
    const [since, later] = ['50', '52'].map((minute) => ({
      creationTimestamp: `2026-01-01T11:${minute}:00Z`,
    }));
    const request = jest.fn(async () => undefined as never);
    await repair(
      request,
      [pod({ ...younger, ...later })],
      pod({ namespace: 'default', uid: 'old', ...since }),
    );
    expect(request).toHaveBeenCalledTimes(1);
  });

  test('repairReconcile evicts the pod itself, and no other one of its name', async () => {
    const calls: unknown[] = [];
    await repair(async (...call) => {
      calls.push(call);
      return undefined as never;
    });
    const body = { deleteOptions: { preconditions: { uid: 'old' } } };
    const path = '/api/v1/namespaces/default/pods/web-1/eviction';
    expect(calls).toEqual([['POST', path, expect.objectContaining({ body: expect.objectContaining(body) })]]);
  });

  test.each([
    ['a budget refuses it', 429, { causes: ['DisruptionBudget'] }, { requeueAfterMs: 5000 }],
    ['the API server is busy', 429, {}, 'rejected'],
    ['a webhook denies it', 409, { message: 'admission webhook "a" denied the request: no' }, 'rejected'],
    ['the pod is gone', 404, {}, {}],
    ['another pod has its name', 409, {}, {}],
    ['it fails', 500, {}, 'rejected'],
  ])('repairReconcile waits for no replacement if %s', async (_, status, more, expected) => {
    const error = new ApiError({ status, reason: '', message: 'no', ...more });
    const result = await repair(() => Promise.reject(error)).catch(() => 'rejected');
    expect(result).toEqual(expected);
    expect(breaker.busy.size).toBe(0);
  });
});
