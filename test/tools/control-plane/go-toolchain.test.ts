import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { findGo } from '../../env/control-plane/go-toolchain.ts';
import { makeFakeGo } from '../../support/operator/fake-go.ts';

let directory = '';
afterEach(() => {
  rmSync(directory, { recursive: true });
});

describe('a Go that is asked to build a module for Go 1.26.0', () => {
  test.each([
    [{ GOVERSION: 'go1.26.0', GOTOOLCHAIN: 'local' }, 'is the same'],
    [{ GOVERSION: 'go1.26.11', GOTOOLCHAIN: 'local' }, 'is newer'],
    [{ GOVERSION: 'go1.27rc1', GOTOOLCHAIN: 'local' }, 'is a newer candidate'],
    [{ GOVERSION: 'go2.0', GOTOOLCHAIN: 'local' }, 'is much newer'],
    [{ GOVERSION: 'go1.24.2', GOTOOLCHAIN: 'auto' }, 'is older, but may download another'],
    [{ GOVERSION: 'go1.21.0', GOTOOLCHAIN: 'go1.21.0+auto' }, 'is older by choice, but may download another'],
    [{ GOVERSION: 'go1.24.2', GOTOOLCHAIN: 'path' }, 'is older, but may look for another'],
  ])('%j will do: it %s', async (settings) => {
    directory = makeFakeGo(settings);
    const go = await findGo({ PATH: `${directory}:/bin` }, '1.26.0');
    expect(go).toEqual({ buildCache: directory, moduleCache: directory });
  });

  test.each([
    [{ GOVERSION: 'go1.25.9', GOTOOLCHAIN: 'local' }, 'GOTOOLCHAIN=local forbids it to download another'],
    [{ GOVERSION: 'go1.25.1', GOTOOLCHAIN: 'go1.25.1' }, 'GOTOOLCHAIN=go1.25.1 forbids it'],
    [{ GOVERSION: 'go1.19.8', GOTOOLCHAIN: '' }, 'needs Go 1.26.0, and this is 1.19.8'],
  ])('%j will not, and it is said why', async (settings, message) => {
    directory = makeFakeGo(settings);
    const finding = findGo({ PATH: `${directory}:/bin` }, '1.26.0');
    await expect(finding).rejects.toThrow(message);
    await expect(finding).rejects.toThrow('KUBEBUILDER_ASSETS');
  });

  test('is missing: both ways to get a control plane are named', async () => {
    directory = mkdtempSync(join(tmpdir(), 'no-go-'));
    const finding = findGo({ PATH: directory }, '1.26.0');
    await expect(finding).rejects.toThrow('install Go 1.26.0 or newer');
    await expect(finding).rejects.toThrow('KUBEBUILDER_ASSETS');
  });
});
