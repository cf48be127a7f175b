import { expect, test } from '@jest/globals';
import { ReportWriter } from '../../../../src/networks/agent/report.ts';
import type { NodeReport } from '../../../../src/networks/nodes/node-report.ts';

const signal = new AbortController().signal;
const report: NodeReport = { version: 2, ranges: ['192.0.2.0/24'], problems: {} };
const owner = { apiVersion: 'v1', kind: 'Node', name: 'a', uid: 'u' };

function stage() {
  const applied: unknown[] = [];
  const state = { nowMs: 0, failure: undefined as Error | undefined };
  const writer = new ReportWriter({
    client: {
      apply: async (resource, _, object) => {
        if (state.failure) throw state.failure;
        applied.push(object);
        return resource.decode(object);
      },
    },
    namespace: 'agents',
    node: 'a',
    owner: async () => owner,
    nowMs: () => state.nowMs,
  });
  return { applied, state, write: (one: NodeReport) => writer.write(one, signal) };
}

test('a report is written when it changes, and owned by its Node', async () => {
  const { applied, write } = stage();
  await write(report);
  await write({ ...report });
  const labels = { app: 'envoy-initializer', 'samplecrd.k8s.io/node-report': '' };
  const metadata = { name: 'a', namespace: 'agents', labels, ownerReferences: [owner] };
  const data = { report: JSON.stringify(report) };
  expect(applied).toEqual([{ apiVersion: 'v1', kind: 'ConfigMap', metadata, data }]);
  await write({ ...report, problems: { 'default/a': 'no' } });
  expect(applied).toHaveLength(2);
});

test('an unchanged report is applied again after ten minutes, and a failed one in the next round', async () => {
  const { applied, state, write } = stage();
  await write(report);
  state.nowMs = 599_999;
  await write(report);
  expect(applied).toHaveLength(1);
  state.nowMs = 600_000;
  state.failure = new Error('the API server is away');
  await expect(write(report)).rejects.toThrow('away');
  state.failure = undefined;
  await write(report);
  expect(applied).toHaveLength(2);
});
