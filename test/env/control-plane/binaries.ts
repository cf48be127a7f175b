import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';

/** What a control plane is made of, in the order in which it is built. */
export const BINARY_NAMES = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl'] as const;
export type BinaryName = (typeof BINARY_NAMES)[number];

/** What makes a node of a machine, beside a container runtime. Of the control plane's version, and built on demand. */
export const NODE_BINARY_NAMES = ['kubelet', 'kube-proxy', 'kube-scheduler'] as const;
export type NodeBinaryName = (typeof NODE_BINARY_NAMES)[number];
export type NodeBinaries = Readonly<Record<NodeBinaryName, string>>;

/** Paths of executables. Assets from outside may come without a controller manager. */
export type Binaries = Readonly<
  Record<Exclude<BinaryName, 'kube-controller-manager'>, string> & { 'kube-controller-manager'?: string }
>;

/** Where each binary is, or is to be once it has been built. */
export interface BinaryLookup {
  readonly binaries: Binaries;
  /** Those of them that are to be built into the cache. */
  readonly missing: readonly BinaryName[];
}

/**
 * Finds the binaries in the directory `KUBEBUILDER_ASSETS`, as controller-runtime's envtest does, or else in our own cache.
 * Throws where one is not there: a wrong path should not become a silent build.
 */
export function lookUpBinaries(env: NodeJS.ProcessEnv, cacheDirectory: string): BinaryLookup {
  const assets = env.KUBEBUILDER_ASSETS;
  const directory = assets || cacheDirectory;
  const at = (name: BinaryName) => join(directory, name);
  const missing = BINARY_NAMES.filter((name) => !isExecutable(at(name)));
  // An API server from outside may be of any version, and a controller manager must not be newer: ours is not for it.
  const hasManager = !assets || !missing.includes('kube-controller-manager');
  const needed = missing.find((name) => name !== 'kube-controller-manager');
  if (assets && needed !== undefined) {
    throw new Error(
      `KUBEBUILDER_ASSETS=${assets}: expected an executable ${at(needed)}; correct the variable, or unset it to build our own`,
    );
  }
  return {
    binaries: {
      etcd: at('etcd'),
      'kube-apiserver': at('kube-apiserver'),
      kubectl: at('kubectl'),
      ...(hasManager && { 'kube-controller-manager': at('kube-controller-manager') }),
    },
    missing: assets ? [] : missing,
  };
}

/** Finds a node's binaries, which come from our own cache only: there they fit our control plane's. */
export function lookUpNodeBinaries(cacheDirectory: string): {
  readonly binaries: NodeBinaries;
  readonly missing: readonly NodeBinaryName[];
} {
  const at = (name: NodeBinaryName) => join(cacheDirectory, name);
  return {
    binaries: {
      kubelet: at('kubelet'),
      'kube-proxy': at('kube-proxy'),
      'kube-scheduler': at('kube-scheduler'),
    },
    missing: NODE_BINARY_NAMES.filter((name) => !isExecutable(at(name))),
  };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
