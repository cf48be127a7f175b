import { expect, test } from '@jest/globals';
import { ApiError } from '../../../src/kube/api/api-error.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import { setUpServerVersion } from '../../../src/operator/server-version.ts';
import { capturedLog } from '../../support/kube/captured-log.ts';
import { testManager } from '../../support/kube/test-manager.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

/** A replica whose API server answers so about its version, one answer after another. */
async function replicaOf(...answers: readonly (object | Error)[]) {
  const { log, lines } = capturedLog();
  const clock = new FakeClock();
  const left = answers.values();
  const client = {
    async request(method: string, path: string) {
      expect(`${method} ${path}`).toBe('GET /version');
      const { value } = left.next();
      if (value instanceof Error) throw value;
      return value;
    },
  } as unknown as KubeClient;
  const manager = testManager({ client, clock, log });
  const serverMinor = setUpServerVersion(manager);
  const changes: (number | undefined)[] = [];
  serverMinor.onChanged(() => changes.push(serverMinor.current()));
  const stop = new AbortController();
  const running = manager.run(stop.signal);
  await clock.advanceAsync(0);
  return {
    changes,
    serverMinor,
    later: (ms: number) => clock.advanceAsync(ms),
    async end() {
      const messages = lines.map(({ msg }) => msg);
      stop.abort(new Error('the test is over'));
      await clock.advanceAsync(0);
      await running;
      return messages.filter((msg) => msg !== 'listening');
    },
  };
}

const version = (gitVersion: string, more: object = {}) => ({ gitVersion, ...more });

test('the version of the API server is followed through an upgrade', async () => {
  const replica = await replicaOf(
    version('v1.35.7-eks-1'),
    version('v1.36.3', { emulationMajor: '1', emulationMinor: '35' }),
    version('v1.36.3', { emulationMajor: '1', emulationMinor: '36' }),
    version('v1.36.3', { emulationMajor: '1', emulationMinor: '36' }),
  );
  expect(replica.serverMinor.current()).toBe(35);
  await replica.later(60_000);
  expect(replica.serverMinor.current()).toBe(35);
  await replica.later(60_000);
  expect(replica.serverMinor.current()).toBe(36);
  await replica.later(60_000);
  expect(replica.changes).toEqual([35, 36]);
  expect(await replica.end()).toEqual(['connected to the API server', 'API server version changed']);
});

test('a version of the API server that cannot be read is unknown until the next try', async () => {
  const replica = await replicaOf(new Error('no route'), version('v1.30.1'));
  expect(replica.serverMinor.current()).toBeUndefined();
  await replica.later(5_000);
  expect(replica.serverMinor.current()).toBe(30);
  expect(await replica.end()).toEqual([
    'cannot read the version of the API server, retrying',
    'connected to the API server',
    'API server is too old: expected Kubernetes 1.31 or newer',
  ]);
});

test.each([
  ['an operator that may not read it', new ApiError({ status: 403, reason: 'Forbidden', message: 'no' })],
  ['an answer of another kind', version('dev')],
  ['an answer without it', {}],
])('%s does not know the version of the API server', async (_, answer) => {
  const replica = await replicaOf(answer);
  expect(replica.serverMinor.current()).toBeUndefined();
  expect(replica.changes).toEqual([]);
  expect(await replica.end()).toEqual(['connected to the API server']);
});
