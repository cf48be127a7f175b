import { expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import { tallied } from '../../../../src/kube/prometheus/tally.ts';

test('a counter has what was tallied until it is read, each time', async () => {
  const registry = new Registry();
  const tallyOf = tallied({ name: 'calls', help: 'h', labelNames: ['path'], registers: [registry] });
  const [a, b] = [tallyOf({ path: 'a' }), tallyOf({ path: 'b' })];
  const lines = async () => (await registry.metrics()).match(/^calls\{.*$/gm);
  a.count += 2;
  expect(await lines()).toEqual(['calls{path="a"} 2', 'calls{path="b"} 0']);
  a.count += 1;
  b.count += 1;
  expect(await lines()).toEqual(['calls{path="a"} 3', 'calls{path="b"} 1']);
  expect(await lines()).toEqual(['calls{path="a"} 3', 'calls{path="b"} 1']);
});
