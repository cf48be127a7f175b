import { expect, test } from '@jest/globals';
import { deleteNetworks, isLed, named } from '../../../../src/cli/uninstall/leftovers.ts';
import { Remover } from '../../../../src/cli/uninstall/remover.ts';
import type { KubeObject } from '../../../../src/kube/api/object.ts';
import type { Resource } from '../../../../src/kube/api/resource.ts';
import type { Network } from '../../../../src/networks/api/types.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

/** A client that reads a Lease of this version. */
function reading(version: () => string) {
  return {
    get: async <T extends KubeObject>(resource: Resource<T>) =>
      resource.decode({ metadata: { name: 'envoy-initializer', resourceVersion: version() } }),
  };
}

test('uninstall names a Network that is being deleted with what it waits for', () => {
  const condition = (type: string, status: 'True' | 'False', message: string) => ({
    ...{ type, status, message, reason: 'Deleting' },
    ...{ lastTransitionTime: '2026-01-01T00:00:00Z', observedGeneration: 1 },
  });
  const conditions = [
    condition('Ready', 'False', 'the Network is being deleted'),
    condition('Progressing', 'True', 'waiting for pods that use it: default/ping'),
  ];
  const network = (name: string, deletionTimestamp?: string) =>
    ({
      metadata: { namespace: 'a', name, ...(deletionTimestamp && { deletionTimestamp }) },
      status: { conditions },
    }) as unknown as Network;
  expect(named([network('b', '2026-01-01T00:00:00Z'), network('c')])).toBe(
    'a/b (waiting for pods that use it: default/ping), a/c',
  );
});

test('uninstall takes an operator for leading as soon as its Lease changes', async () => {
  const clock = new FakeClock();
  let version = 1;
  const led = isLed(
    reading(() => `${version}`),
    'envoy-initializer',
    clock,
  );
  await clock.advanceAsync(3_000);
  version = 2;
  await clock.advanceAsync(1_000);
  expect(await led).toBe(true);
});

test('uninstall takes no operator for leading if its Lease stays as it is for 15 s', async () => {
  const clock = new FakeClock();
  const led = isLed(
    reading(() => '1'),
    'envoy-initializer',
    clock,
  );
  await clock.advanceAsync(15_000);
  expect(await led).toBe(false);
});

test('uninstall releases a Network that the operator cannot read', async () => {
  const metadata = { namespace: 'a', name: 'b', uid: '1', finalizers: ['samplecrd.k8s.io/network-cleanup'] };
  const items = [{ metadata }];
  const client = {
    list: async (_: unknown, __: unknown, read: (item: object) => object) => ({ items: items.map(read) }),
    get: async ({ decode }: Resource<KubeObject>) => decode(items[0]),
    delete: async () => {},
    jsonPatch: async ({ kind }: Resource<KubeObject>) => kind === 'Network' && items.pop(),
  };
  await deleteNetworks(new Remover(client as never, new FakeClock(), -1, () => {}), true);
  expect(items).toEqual([]);
});

test('uninstall takes an operator without leader election for leading while a replica is ready', async () => {
  const containers = [{ name: 'envoy-initializer', args: ['--leader-elect=false'] }];
  const led = (readyReplicas: number) => {
    const found = { spec: { template: { spec: { containers } } }, status: { readyReplicas } };
    return isLed({ get: async () => found } as never, 'envoy-initializer', new FakeClock());
  };
  expect([await led(1), await led(0)]).toEqual([true, false]);
});
