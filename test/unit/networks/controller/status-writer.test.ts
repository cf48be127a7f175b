import { expect, test } from '@jest/globals';
import type { Network, NetworkStatus } from '../../../../src/networks/api/types.ts';
import { StatusThrottle } from '../../../../src/networks/controller/status-throttle.ts';
import { StatusWriter } from '../../../../src/networks/controller/status-writer.ts';

const { signal } = new AbortController();

/** A Network with its last written status, its StatusWriter, and all writes. */
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

test('StatusWriter writes counts at most every 10 s, and then the newest ones', async () => {
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

test('StatusWriter writes other changes immediately, with the current counts', async () => {
  const { written, report } = stage();
  await report({ attachedPods: 0 });
  await report({ attachedPods: 1 });
  await expect(report({ attachedPods: 2, cidr: '10.0.0.0/24' })).resolves.toBeUndefined();
  expect(written.at(-1)).toMatchObject({ attachedPods: 2, cidr: '10.0.0.0/24' });
});

test('StatusWriter does not write an unchanged status', async () => {
  const { written, report } = stage();
  await report({ attachedPods: 0 });
  await report({ attachedPods: 0 });
  expect(written).toHaveLength(1);
});
