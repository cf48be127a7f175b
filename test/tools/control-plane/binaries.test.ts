import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { BINARY_NAMES, lookUpBinaries } from '../../env/control-plane/binaries.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'binaries-'));
});
afterEach(() => {
  rmSync(root, { recursive: true });
});

/** Makes executables of these paths below the root. */
function make(...paths: string[]): void {
  for (const path of paths) {
    mkdirSync(join(root, dirname(path)), { recursive: true });
    writeFileSync(join(root, path), '', { mode: 0o755 });
  }
}

/** Looks up with these variables, whose values are paths below the root; answers with such paths, too. */
function lookUp(variables: Record<string, string>) {
  const env = Object.fromEntries(Object.entries(variables).map(([name, path]) => [name, join(root, path)]));
  const { binaries, missing } = lookUpBinaries(env, join(root, 'cache'));
  return {
    binaries: Object.fromEntries(
      Object.entries(binaries).map(([name, path]) => [name, path.slice(root.length + 1)]),
    ),
    missing,
  };
}

const cached = BINARY_NAMES.map((name) => `cache/${name}`);
const assets = ['etcd', 'kube-apiserver', 'kubectl'].map((name) => `assets/${name}`);

describe('binaries are looked up', () => {
  test('in the cache, where all four are', () => {
    make(...cached);
    expect(lookUp({})).toEqual({
      binaries: Object.fromEntries(BINARY_NAMES.map((name) => [name, `cache/${name}`])),
      missing: [],
    });
  });

  test('in the cache, and those that are not there are missing, in the order of building', () => {
    make('cache/kube-apiserver');
    expect(lookUp({}).missing).toEqual(['etcd', 'kube-controller-manager', 'kubectl']);
  });

  test('and one that cannot be executed is missing', () => {
    make(...cached);
    chmodSync(join(root, 'cache/kubectl'), 0o644);
    expect(lookUp({}).missing).toEqual(['kubectl']);
  });

  test('in KUBEBUILDER_ASSETS before the cache, without a controller manager, which is not there', () => {
    make(...cached, ...assets);
    expect(lookUp({ KUBEBUILDER_ASSETS: 'assets' })).toEqual({
      binaries: { etcd: 'assets/etcd', 'kube-apiserver': 'assets/kube-apiserver', kubectl: 'assets/kubectl' },
      missing: [],
    });
  });

  test('in KUBEBUILDER_ASSETS with a controller manager, where somebody put one', () => {
    make(...assets, 'assets/kube-controller-manager');
    const { binaries } = lookUp({ KUBEBUILDER_ASSETS: 'assets' });
    expect(binaries['kube-controller-manager']).toBe('assets/kube-controller-manager');
  });

  test('by TEST_ASSET variables first', () => {
    make(...assets, 'my/etcd', 'my/api', 'my/ctl', 'my/manager');
    const variables = {
      KUBEBUILDER_ASSETS: 'assets',
      TEST_ASSET_ETCD: 'my/etcd',
      TEST_ASSET_KUBE_APISERVER: 'my/api',
      TEST_ASSET_KUBECTL: 'my/ctl',
      TEST_ASSET_KUBE_CONTROLLER_MANAGER: 'my/manager',
    };
    expect(lookUp(variables).binaries).toEqual({
      etcd: 'my/etcd',
      'kube-apiserver': 'my/api',
      kubectl: 'my/ctl',
      'kube-controller-manager': 'my/manager',
    });
  });

  test('by a TEST_ASSET variable for one, and for the others in the cache', () => {
    make(...cached, 'my/etcd');
    expect(lookUp({ TEST_ASSET_ETCD: 'my/etcd' })).toEqual({
      binaries: {
        etcd: 'my/etcd',
        'kube-apiserver': 'cache/kube-apiserver',
        'kube-controller-manager': 'cache/kube-controller-manager',
        kubectl: 'cache/kubectl',
      },
      missing: [],
    });
  });

  test('and an API server of another make does not get the controller manager of the cache', () => {
    make(...cached, 'my/api');
    const { binaries } = lookUp({ TEST_ASSET_KUBE_APISERVER: 'my/api' });
    expect(binaries).not.toHaveProperty('kube-controller-manager');
  });

  test.each([
    [
      { KUBEBUILDER_ASSETS: 'nowhere' },
      /KUBEBUILDER_ASSETS=.*nowhere: expected an executable .*nowhere\/etcd/,
    ],
    [{ TEST_ASSET_ETCD: 'nowhere' }, /TEST_ASSET_ETCD=.*nowhere: expected an executable .*nowhere/],
    [
      { TEST_ASSET_KUBE_CONTROLLER_MANAGER: 'none', KUBEBUILDER_ASSETS: 'assets' },
      /TEST_ASSET_KUBE_CONTROLLER_MANAGER=.*none/,
    ],
    [{ TEST_ASSET_KUBE_CONTROLLER_MANAGER: 'none' }, /TEST_ASSET_KUBE_CONTROLLER_MANAGER=.*none/],
  ])('and %j, where nothing is, is an error and not a build', (variables, message) => {
    make(...cached, ...assets);
    expect(() => lookUp(variables)).toThrow(message);
  });
});
