import { describe, expect, test } from '@jest/globals';
import { holdsWeights, weightFaults } from '../../../../src/injection/envoy/configuration-faults.ts';

const messagesOf = (data: Readonly<Record<string, string>>) =>
  weightFaults(data).map(({ source, message }) => `${source}: ${message}`);

describe('weights of a canary', () => {
  test.each([
    [{ 'canary.app_v1': '90', 'canary.app_v2': '10' }],
    [{ 'canary.app_v1': '0', 'canary.app_v2': '100\n' }],
  ])('%j are valid', (data) => {
    expect(messagesOf(data)).toEqual([]);
  });

  test.each(['10%', '0.5', '-1', 'ten', '', '1e3'])('%j is not a weight', (weight) => {
    expect(messagesOf({ 'canary.app_v1': '0', 'canary.app_v2': weight })).toEqual([
      `canary.app_v2: must be a whole number such as "10", not ${JSON.stringify(weight)}`,
    ]);
  });

  test('a message cuts a long weight, and at most twenty faults are returned', () => {
    const data = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`a.x${i}`, 'x'.repeat(10_000)]));
    const messages = messagesOf(data);
    expect(messages).toHaveLength(20);
    expect(Math.max(...messages.map(({ length }) => length))).toBeLessThan(200);
  });

  test('weights that are all 0 give one fault per prefix', () => {
    expect(messagesOf({ 'a.x': '0', 'a.y': '0', 'b.x': '0', 'b.y': '1' })).toEqual([
      'a.x: all weights of a are 0, so every request gets 404: give at least one a higher weight',
    ]);
  });
});

test.each([
  [{ 'canary.app_v1': '1' }, true],
  [{ 'canary.app_v1': '1', 'envoy.json': '{}' }, false],
  [{ config: '' }, false],
  [{}, false],
])('%j holds weights: %j', (data, expected) => {
  expect(holdsWeights(data)).toBe(expected);
});
