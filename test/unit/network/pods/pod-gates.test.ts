import { describe, expect, test } from '@jest/globals';
import type { Operation } from 'fast-json-patch';
import { ApiError } from '../../../../src/kube/api/api-error.ts';
import type { EventDetails } from '../../../../src/kube/events/events.ts';
import { NetworkAccess } from '../../../../src/network/pods/network-access.ts';
import { type NetworkPod, networkPods } from '../../../../src/network/pods/network-pods.ts';
import type { NetworkState } from '../../../../src/network/pods/network-state.ts';
import { PodGates } from '../../../../src/network/pods/pod-gates.ts';

const access = new NetworkAccess([]);

const GATE = 'samplecrd.k8s.io/network';
const MULTUS = 'k8s.v1.cni.cncf.io/networks';
const { signal } = new AbortController();

function gatedPod(
  gates: readonly string[] = ['example.org/theirs', GATE],
  annotations: Readonly<Record<string, string>> = { [GATE]: 'blue', [MULTUS]: 'blue' },
): NetworkPod {
  return networkPods(access).decode({
    metadata: { name: 'p', namespace: 'red', uid: 'u', annotations },
    spec: { schedulingGates: gates.map((name) => ({ name })) },
  });
}

/** PodGates for one pod, which records its actions. */
function stage({ pod = gatedPod() as NetworkPod | undefined, error = undefined as Error | undefined } = {}) {
  const did: string[] = [];
  const patches: (readonly Operation[])[] = [];
  const notices: EventDetails[] = [];
  const world: { pod: NetworkPod | undefined; state: NetworkState } = { pod, state: { kind: 'ready' } };
  const gates = new PodGates({
    client: {
      jsonPatch: async (resource, _ref, operations) => {
        did.push('patch');
        patches.push(operations);
        if (error) throw error;
        return resource.decode({ metadata: { name: 'p' } });
      },
    },
    pods: { get: () => world.pod },
    users: { reserve: () => did.push('reserve'), settle: () => did.push('settle') },
    stateOf: () => world.state,
    access,
    events: { event: (_, notice) => notices.push(notice) },
  });
  return { world, did, patches, notices, reconcile: () => gates.reconcile('red/p', signal) };
}

const refusal = (status: number) =>
  new ApiError({ status, reason: '', message: 'no', retryAfterMs: undefined, causes: [] });

describe('a pod whose Networks are Ready', () => {
  test('loses the gate with the right name, and counts as a user before that', async () => {
    const { did, patches, notices, reconcile } = stage();
    await expect(reconcile()).resolves.toEqual({});
    expect(did).toEqual(['reserve', 'patch']);
    expect(patches[0]).toEqual([
      { op: 'test', path: '/metadata/uid', value: 'u' },
      { op: 'test', path: '/metadata/annotations/samplecrd.k8s.io~1network', value: 'blue' },
      { op: 'test', path: '/spec/schedulingGates/1/name', value: GATE },
      { op: 'remove', path: '/spec/schedulingGates/1' },
    ]);
    expect(notices.map(({ reason }) => reason)).toEqual(['NetworkReady']);
  });

  test.each([
    ['has changed since', 422, { requeueAfterMs: 0 }],
    ['is gone', 404, {}],
  ])('and that %s does not count as a user any more', async (_, status, result) => {
    const { did, notices, reconcile } = stage({ error: refusal(status) });
    await expect(reconcile()).resolves.toEqual(result);
    expect(did).toEqual(['reserve', 'patch', 'settle']);
    expect(notices).toEqual([]);
  });

  test('is retried after a failure', async () => {
    const { did, reconcile } = stage({ error: refusal(500) });
    await expect(reconcile()).rejects.toThrow('no');
    expect(did).toEqual(['reserve', 'patch', 'settle']);
  });
});

test('a waiting pod gets one Event for each reason', async () => {
  const { world, did, notices, reconcile } = stage();
  for (const why of ['Network red/blue does not exist', 'Network red/blue is not Ready yet']) {
    world.state = { kind: 'waiting', why };
    await reconcile();
    await reconcile();
  }
  expect(did).toEqual([]);
  expect(notices.map(({ note }) => note)).toEqual([
    'waits for its Network: Network red/blue does not exist',
    'waits for its Network: Network red/blue is not Ready yet',
  ]);
});

test.each([
  ['is gone', undefined],
  ['does not have the gate', gatedPod(['example.org/theirs'])],
])('a pod that %s is ignored', async (_, pod) => {
  const { world, did, notices, reconcile } = stage();
  world.pod = pod;
  await expect(reconcile()).resolves.toEqual({});
  expect([...did, ...notices]).toEqual([]);
});

describe('a gated pod with an annotation that is too long', () => {
  const long = 'blue,'.repeat(10_000);

  test.each([
    ["the operator's", { [GATE]: long, [MULTUS]: 'blue' }, GATE],
    ["Multus'", { [GATE]: 'blue', [MULTUS]: long }, MULTUS],
  ])('keeps the gate, and gets an Event: %s', async (_, annotations, key) => {
    const { did, notices, reconcile } = stage({ pod: gatedPod([GATE], annotations) });
    await reconcile();
    expect(did).toEqual([]);
    const note = `waits for its Network: annotation ${key} has 50000 characters: write at most 32768`;
    expect(notices).toEqual([{ type: 'Warning', reason: 'InvalidNetworkAnnotation', action: 'Wait', note }]);
  });

  test("loses the gate if only Multus' annotation is left", async () => {
    const { did, reconcile } = stage({ pod: gatedPod([GATE], { [MULTUS]: long }) });
    await reconcile();
    expect(did).toEqual(['reserve', 'patch']);
  });
});
