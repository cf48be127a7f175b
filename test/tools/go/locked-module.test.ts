import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { lockedModule, moduleTexts } from '../../env/go/locked-module.ts';
import { fakeGoEnv, makeFakeGo } from '../../support/operator/fake-go.ts';

// As Kubernetes has it: a module beside it, which is published on its own, and an example, which is not.
const GO_MOD = `module k8s.io/kubernetes

go 1.26.0

require (
\texample.com/other v1.0.0
\tk8s.io/api v0.0.0
\tk8s.io/sample-apiserver v0.0.0
)

replace (
\tk8s.io/api => ./staging/src/k8s.io/api
\tk8s.io/sample-apiserver => ./staging/src/k8s.io/sample-apiserver
)
`;
const GO_SUM = 'example.com/other v1.0.0 h1:other\n';
const PIN = {
  module: 'k8s.io/kubernetes',
  version: 'v1.36.3',
  lock: 'c24e6c198221cd5b1c23ec7a060e9a2244252c8d9c09f259932ef52b2bb28333',
};

let cache: string;
let fakeGo: string;
beforeEach(() => {
  cache = mkdtempSync(join(tmpdir(), 'locked-module-'));
  fakeGo = makeFakeGo();
  mkdirSync(join(fakeGo, 'module'));
  writeFileSync(join(fakeGo, 'module/go.mod'), GO_MOD);
  writeFileSync(join(fakeGo, 'module/go.sum'), GO_SUM);
});
afterEach(() => {
  rmSync(cache, { recursive: true });
  rmSync(fakeGo, { recursive: true });
});

describe('a pinned module', () => {
  test('is built with its own go.mod and go.sum, and the published modules from beside it', async () => {
    const directory = await lockedModule(PIN, fakeGoEnv(fakeGo, cache));
    const [goMod, goSum] = ['go.mod', 'go.sum'].map((file) => readFileSync(join(directory, file), 'utf8'));
    expect(goMod).toMatch(/^module .*\n\nrequire k8s\.io\/kubernetes v1\.36\.3\n/);
    expect(goMod).toContain('\texample.com/other v1.0.0\n\tk8s.io/api v0.36.3\n');
    expect(goMod).not.toMatch(/=>|^\tk8s\.io\/sample/m);
    expect(goSum).toBe(
      `${GO_SUM}k8s.io/kubernetes v1.36.3 h1:zip\nk8s.io/kubernetes v1.36.3/go.mod h1:mod\n` +
        'k8s.io/api v0.36.3 h1:zip\nk8s.io/api v0.36.3/go.mod h1:mod\n',
    );
  });

  test('is built with another version of a module in place of the one that it asks for', async () => {
    const pin = {
      ...PIN,
      replace: ['example.com/other@v0.9.0'],
      lock: 'c7a8e870e922e3f3434bcaa761b6f0796169fc91d793128381280bcb7551afa1',
    };
    const directory = await lockedModule(pin, fakeGoEnv(fakeGo, cache));
    const [goMod, goSum] = ['go.mod', 'go.sum'].map((file) => readFileSync(join(directory, file), 'utf8'));
    expect(goMod).toContain('\nreplace example.com/other => example.com/other v0.9.0\n');
    expect(goSum).toContain('example.com/other v0.9.0 h1:zip\nexample.com/other v0.9.0/go.mod h1:mod\n');
  });

  test('has files of no other archive than the pinned one', async () => {
    const texts = moduleTexts({ ...PIN, lock: 'h1:other' }, 'config', fakeGoEnv(fakeGo, cache));
    await expect(texts).rejects.toThrow(
      'k8s.io/kubernetes@v1.36.3: expected h1:other as its hash, got h1:zip',
    );
  });

  test('is refused where a hash is another than was pinned', async () => {
    writeFileSync(join(fakeGo, 'module/go.sum'), 'example.com/other v1.0.0 h1:changed\n');
    await expect(lockedModule(PIN, fakeGoEnv(fakeGo, cache))).rejects.toThrow(
      `k8s.io/kubernetes v1.36.3: expected ${PIN.lock}`,
    );
  });
});
