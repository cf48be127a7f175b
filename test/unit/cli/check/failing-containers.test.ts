import { expect, test } from '@jest/globals';
import { failingContainers } from '../../../../src/cli/check/check-pods.ts';
import { keysFor } from '../../../../src/injection/keys.ts';
import type { JsonObject } from '../../../../src/util/json.ts';
import { decideInput, demoPod } from '../../../support/injection/demo.ts';
import { injectChecked } from '../../../support/injection/inject-checked.ts';

const injected = injectChecked(decideInput(demoPod())).pod;
const found = (status: JsonObject) =>
  failingContainers([{ ...injected, status }], keysFor()).map(({ message }) => message);
const waiting = (name: string, reason: string, terminated?: JsonObject) => ({
  name,
  state: { waiting: { reason } },
  ...(terminated && { lastState: { terminated } }),
});

test('check names an init container that fails, with its last words', () => {
  const message = 'annotation x: "a" is not a port';
  expect(
    found({
      initContainerStatuses: [
        waiting('envoy-capture', 'CrashLoopBackOff', { exitCode: 1, message: `${message}\n` }),
      ],
    }),
  ).toEqual([`pod myapp-pod: container envoy-capture cannot run: CrashLoopBackOff; ${message}; exit code 1`]);
  expect(
    found({
      initContainerStatuses: [
        { name: 'i', state: { terminated: { exitCode: 2, reason: 'Error', message } } },
      ],
    }),
  ).toEqual([`pod myapp-pod: container i cannot run: Error: ${message} (exit code 2)`]);
});

test('check names a sidecar that fails, and leaves the application to its author', () => {
  const status = {
    containerStatuses: [waiting('myapp-container', 'ErrImagePull'), waiting('envoy', 'ErrImagePull')],
  };
  expect(found(status)).toEqual(['pod myapp-pod: container envoy cannot run: ErrImagePull']);
});
