import { describe, expect, test } from '@jest/globals';
import { isLed } from '../../../../src/cli/uninstall/networks.ts';
import { ApiError } from '../../../../src/kube/api/api-error.ts';
import type { KubeObject } from '../../../../src/kube/api/object.ts';
import type { Resource } from '../../../../src/kube/api/resource.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

/** A client that reads a Lease of this version. */
function reading(version: () => string) {
  return {
    get: async <T extends KubeObject>(resource: Resource<T>) =>
      resource.decode({ metadata: { name: 'envoy-initializer', resourceVersion: version() } }),
  };
}

describe('an operator leads', () => {
  test('as soon as its Lease changes', async () => {
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

  test('not, if its Lease stays as it is for 15 s', async () => {
    const clock = new FakeClock();
    const led = isLed(
      reading(() => '1'),
      'envoy-initializer',
      clock,
    );
    await clock.advanceAsync(15_000);
    expect(await led).toBe(false);
  });

  test('not, if there is no Lease', async () => {
    const get = async () => {
      throw new ApiError({ status: 404, reason: 'NotFound', message: 'not found' });
    };
    expect(await isLed({ get }, 'envoy-initializer', new FakeClock())).toBe(false);
  });
});
