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

test('what is left of a network is removed when it was found twice', async () => {
  const { sweeper, removed } = stage();
  await sweeper.sweep();
  expect(removed).toEqual([]);
  await sweeper.sweep();
  expect(removed).toEqual([{ bridge, networks: [] }]);
});

test('a bridge that is a moment older than the cache is left alone', async () => {
  const { sweeper, removed, attachments } = stage();
  await sweeper.sweep();
  attachments.add('red/gone');
  await sweeper.sweep();
  attachments.clear();
  await sweeper.sweep();
  expect(removed).toEqual([]);
});

test('what cannot be removed is tried again', async () => {
  const { sweeper, removed } = stage(1);
  for (let round = 1; round <= 3; round++) await sweeper.sweep();
  expect(removed).toHaveLength(1);
});

test('nothing is removed while it is not known what is needed', async () => {
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
