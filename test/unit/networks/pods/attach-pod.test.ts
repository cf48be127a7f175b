import { beforeEach, expect, test } from '@jest/globals';
import type { KubeClient, ListOptions } from '../../../../src/kube/client/client.ts';
import { attachWith } from '../../../../src/networks/pods/attach-pod.ts';
import { NetworkAccess } from '../../../../src/networks/pods/network-access.ts';
import type { NetworkState } from '../../../../src/networks/pods/network-state.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

let clock: FakeClock;
/** The namespaces of all lists. */
let listed: string[];

beforeEach(() => {
  clock = new FakeClock();
  listed = [];
});

/** Attaches a pod of `shop` in a cluster without Networks. */
async function attachFresh(networks: string, sharedNamespaces: readonly string[] = []) {
  const client: Pick<KubeClient, 'list'> = {
    async list(_: unknown, { namespace = '' }: ListOptions) {
      listed.push(namespace);
      return { items: [], resourceVersion: '1', continue: undefined };
    },
  };
  const judge = (key: string, network: unknown): NetworkState =>
    network === undefined ? { kind: 'unattachable', why: `Network ${key} is not there` } : { kind: 'ready' };
  const access = new NetworkAccess(sharedNamespaces);
  const attach = attachWith({ client, clock, networks: { get: () => undefined }, judge, access });
  const pod = { metadata: { annotations: { 'samplecrd.k8s.io/network': networks } }, spec: {} };
  const attached = attach(pod, 'shop', { fresh: true, signal: () => new AbortController().signal });
  await clock.advanceAsync(0);
  return attached;
}

test('attachWith lists Networks once for each namespace', async () => {
  const result = await attachFresh('one, two, three, shared/four, shared/five', ['shared']);
  expect(result).toEqual({ outcome: 'refused', message: 'Network shop/one is not there' });
  expect(listed.toSorted()).toEqual(['shared', 'shop']);
});

test('attachWith does not list Networks that the pod may not use', async () => {
  expect(await attachFresh('one, elsewhere/two')).toMatchObject({ outcome: 'refused' });
  expect(listed).toEqual(['shop']);
});
