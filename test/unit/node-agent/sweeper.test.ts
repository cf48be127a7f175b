import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { bridgeName } from '../../../src/network/providers/multus/cni-config.ts';
import type { Leftover } from '../../../src/node-agent/leftovers.ts';
import { Sweeper } from '../../../src/node-agent/sweeper.ts';

const bridge = bridgeName('red/gone');

function stage(failures = 0) {
  const removed: Leftover[] = [];
  const attachments = new Set<string>();
  const knowledge = { isThere: true };
  let left = failures;
  const sweeper = new Sweeper({
    host: {
      state: async () => ({ bridges: [{ name: bridge, ports: 0 }], networks: [] }),
      remove: async (leftover) => {
        if (left-- > 0) throw new Error('busy');
        removed.push(leftover);
      },
    },
    needed: () => (knowledge.isThere ? attachments : undefined),
    log: pino({ level: 'silent' }),
  });
  return { sweeper, removed, attachments, knowledge };
}

test('sweep removes leftovers that it has found twice', async () => {
  const { sweeper, removed } = stage();
  await sweeper.sweep();
  expect(removed).toEqual([]);
  await sweeper.sweep();
  expect(removed).toEqual([{ bridge, networks: [] }]);
});

test('sweep keeps a bridge whose Network appears in the cache a moment later', async () => {
  const { sweeper, removed, attachments } = stage();
  await sweeper.sweep();
  attachments.add('red/gone');
  await sweeper.sweep();
  attachments.clear();
  await sweeper.sweep();
  expect(removed).toEqual([]);
});

test('sweep retries what it cannot remove', async () => {
  const { sweeper, removed } = stage(1);
  for (let round = 1; round <= 3; round++) await sweeper.sweep();
  expect(removed).toHaveLength(1);
});

test('sweep removes nothing while the needed Networks are unknown', async () => {
  const { sweeper, removed, knowledge } = stage();
  await sweeper.sweep();
  knowledge.isThere = false;
  for (let round = 1; round <= 3; round++) await sweeper.sweep();
  expect(removed).toEqual([]);
  knowledge.isThere = true;
  await sweeper.sweep();
  expect(removed).toEqual([]);
  await sweeper.sweep();
  expect(removed).toHaveLength(1);
});
