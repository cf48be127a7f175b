import { expect, test } from '@jest/globals';
import { isLed, named } from '../../../../src/cli/uninstall/leftovers.ts';
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
