import { expect, test } from '@jest/globals';
import { keysFor } from '../../../src/injection/keys.ts';
import { sidecarFailure } from '../../../src/injection/sidecar-failure.ts';
import type { JsonObject } from '../../../src/util/json.ts';
import { STATUS } from '../../support/injection/demo.ts';

const INJECTED = JSON.stringify({
  version: 1,
  added: { containers: ['envoy'], initContainers: ['capture'] },
});

function failure(status: JsonObject, metadata: JsonObject = {}): string | undefined {
  return sidecarFailure(
    { metadata: { annotations: { [STATUS]: INJECTED }, ...metadata }, status },
    keysFor(),
  );
}

const waiting = (name: string, terminated: JsonObject) => ({
  ...{ name, state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState: { terminated } },
});
const REMEDY = "; move the application or Envoy's listener to another port";

// biome-ignore format: a line for each case
test.each<[string, JsonObject, string]>([
  ['its last line, as Envoy wrote it', { message: '[1][info] hello\n[2026-11-27 01:02:03][7][critical] [a.cc:1] no   file\n\n' }, 'no file'],
  ['the address in use, and the remedy', { message: "[main] bind '0.0.0.0:80': Address already in use\r\nexiting\n" }, `bind '0.0.0.0:80': Address already in use${REMEDY}`],
  ['a reason where it said nothing', { reason: 'OOMKilled' }, 'OOMKilled'],
  ['no control characters', { message: 'a\u001b[2Jb\u2028c\u202ed' }, 'a [2Jb c d'],
  ['no more than a note can hold', { message: 'x'.repeat(1e6) }, `${'x'.repeat(299)}…`],
])('the failure of a sidecar says %s', (_, end, words) => {
  const terminated = { exitCode: 1, ...end };
  for (const envoy of [waiting('envoy', terminated), { name: 'envoy', state: { terminated } }])
    expect(failure({ containerStatuses: [envoy] })).toBe(`container envoy ended with exit code 1: ${words}`);
});

test('the failure of a sidecar may be that of its init container', () => {
  const initContainerStatuses = [waiting('own', { exitCode: 2 }), waiting('capture', { exitCode: 3 })];
  expect(failure({ initContainerStatuses })).toBe('container capture ended with exit code 3');
});

test('a sidecar has not failed by an end without an error, of the application, or of a pod that goes', () => {
  const [app, envoy] = [waiting('app', { exitCode: 1 }), waiting('envoy', { exitCode: 1 })];
  expect(failure({ containerStatuses: [waiting('envoy', { exitCode: 0 }), app] })).toBeUndefined();
  expect(failure({ containerStatuses: [envoy] }, { annotations: {} })).toBeUndefined();
  expect(failure({ containerStatuses: [envoy] }, { deletionTimestamp: 'now' })).toBeUndefined();
});
