import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from '@jest/globals';
import { SharedTexts } from '../../../src/route-delivery/shared-texts.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

const FILE = 900_000;

test('texts are returned as they are, in any order', () => {
  const texts = new SharedTexts();
  const letters = [...'abcabcaabbcdefghijklmnopqrstuvwxyzabc'];
  expect(letters.map((letter) => texts.share(letter))).toEqual(letters);
});

test('a hundred files of three kinds take the memory of three', () => {
  const texts = new SharedTexts();
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  // Each has memory of its own, as what comes from the API server.
  const kept = Array.from({ length: 100 }, (_, i) => texts.share(JSON.parse(`"${`${i % 3}`.repeat(FILE)}"`)));
  collectGarbage();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(10 * FILE);
  expect(kept.map((text) => text[0]).join('')).toBe('012'.repeat(34).slice(0, 100));
});
