import { expect, test } from '@jest/globals';
import type { Network, NetworkStatus } from '../../../../src/network/api/types.ts';
import { StatusThrottle } from '../../../../src/network/controller/status-throttle.ts';
import { StatusWriter } from '../../../../src/network/controller/status-writer.ts';

const { signal } = new AbortController();

/** A Network, its reporter, and what was written of it; the status is as it was written last. */
function stage() {
  let now = 0;
  let network: Network = {
    metadata: { name: 'blue', namespace: 'red' },
    spec: { cidr: '10.0.0.0/24', gateway: '10.0.0.1' },
  };
  const written: NetworkStatus[] = [];
  const statusWriter = new StatusWriter({
    writer: {
      writeStatus: async (of, status) => {
        written.push(status);
        network = { ...of, status };
        return network;
      },
    },
    events: { event: () => {} },
    throttle: new StatusThrottle({ now: () => now }),
    now: () => new Date(0),
  });
  return {
    written,
    pass: (ms: number) => {
      now += ms;
    },
    report: (status: NetworkStatus) =>
      statusWriter.report(network, { conditions: [], ...status }, [], signal),
  };
}

test('counts that change quickly are written at most every 10 s, the newest then', async () => {
  const { written, pass, report } = stage();
  await expect(report({ attachedPods: 0 })).resolves.toBeUndefined();
  await expect(report({ attachedPods: 1 })).resolves.toBeUndefined();
  pass(3_000);
  await expect(report({ attachedPods: 2 })).resolves.toBe(7_000);
  pass(6_000);
  await expect(report({ attachedPods: 3 })).resolves.toBe(1_000);
  pass(1_000);
  await expect(report({ attachedPods: 4 })).resolves.toBeUndefined();
  expect(written.map(({ attachedPods }) => attachedPods)).toEqual([0, 1, 4]);
});

test('what says anything else is written at once, with the counts of the moment', async () => {
  const { written, report } = stage();
  await report({ attachedPods: 0 });
  await report({ attachedPods: 1 });
  await expect(report({ attachedPods: 2, cidr: '10.0.0.0/24' })).resolves.toBeUndefined();
  expect(written.at(-1)).toMatchObject({ attachedPods: 2, cidr: '10.0.0.0/24' });
});

test('what says nothing new is not written', async () => {
  const { written, report } = stage();
  await report({ attachedPods: 0 });
  await report({ attachedPods: 0 });
  expect(written).toHaveLength(1);
});
