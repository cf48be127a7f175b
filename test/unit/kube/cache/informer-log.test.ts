import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { apiErrorFrom, TransportError } from '../../../../src/kube/api/api-error.ts';
import { informerLog } from '../../../../src/kube/cache/shared-informers.ts';

/** The level of the line that a failure causes. */
function levelOf(...failure: Parameters<ReturnType<typeof informerLog>>): string {
  const lines: string[] = [];
  informerLog(pino({}, { write: (line) => lines.push(line) }), 'pods')(...failure);
  return pino.levels.labels[JSON.parse(lines.join('')).level] ?? '';
}

test.each([
  ['a server that asks for a later retry', apiErrorFrom(429, {}, '1'), 'list', 'info'],
  ['a failure of the server', apiErrorFrom(500, {}, undefined), 'watch', 'warn'],
  ['a watch without events', new TransportError('no event', 'ESTALLED', undefined), 'watch', 'info'],
  ['a connection that ends', new Error('ended'), 'watch', 'warn'],
  ['an unreadable object', new Error('no name'), 'read', 'error'],
  ['a handler that throws', new Error('bug'), 'handle', 'error'],
] as const)('%s is logged', (_, error, doing, level) => {
  expect(levelOf(error, doing)).toBe(level);
});
