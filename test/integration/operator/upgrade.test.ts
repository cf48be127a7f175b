import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { startControlPlane } from '../../env/control-plane/start.ts';
import { startOperator } from '../../env/operator.ts';
import { Installation } from '../../support/operator/installation.ts';

const NEXT = 'registry.example.com/envoy-initializer:0.0.2';
// kubectl sends the selector of a budget each time (`patchStrategy: replace`), and says so, although nothing changes.
const NO_CHANGE = ['poddisruptionbudget.policy/envoy-initializer configured'];

let controlPlane: ControlPlane;
let installation: Installation;

beforeAll(async () => {
  controlPlane = await startControlPlane();
  installation = new Installation(controlPlane);
  await installation.apply();
  const log = join(controlPlane.directory, 'operator.log');
  await startOperator(controlPlane, { log, ownCertificates: true, isInstalled: true });
  await installation.untilWritten();
});

afterAll(async () => {
  await controlPlane?.stop();
});

describe('manifests that are applied', () => {
  test('show no drift, whatever the operator has written into them', async () => {
    expect(await installation.drift()).toBe('');
  });

  test('again take nothing back: caBundle, owner, nor a template that the user has changed', async () => {
    await installation.changeTemplate();
    const before = await installation.written();
    expect(await installation.apply()).toEqual(NO_CHANGE);
    expect(await installation.written()).toEqual(before);
  });

  test('of the next version change the image, and nothing else', async () => {
    const before = await installation.written();
    expect((await installation.drift(NEXT)).split('\n').filter((line) => /^[-+] /.test(line))).toEqual([
      '-  generation: 1',
      '+  generation: 2',
      '-        image: envoy-initializer:0.0.1',
      `+        image: ${NEXT}`,
    ]);
    // There is no node here on which it would become ready.
    await expect(installation.upgrade(NEXT, 2)).rejects.toThrow('the operator is not ready');
    expect(await installation.drift(NEXT)).toBe('');
    expect(await installation.written()).toEqual(before);
  });

  test('server-side, by another manager, take nothing back either', async () => {
    const before = await installation.written();
    await installation.apply('--server-side', '--force-conflicts', '--field-manager=flux');
    expect(await installation.written()).toEqual(before);
    expect(await installation.drift()).toBe('');
  });
});
