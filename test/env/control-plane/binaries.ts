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
 * Finds the binaries as controller-runtime's envtest does: `TEST_ASSET_ETCD` and the like name one file each, then
 * `KUBEBUILDER_ASSETS` a directory for all, then comes our own cache. Throws where a variable names nothing that
 * can be executed: a wrong path should not become a silent build.
 */
export function lookUpBinaries(env: NodeJS.ProcessEnv, cacheDirectory: string): BinaryLookup {
  const missing: BinaryName[] = [];
  const find = (name: BinaryName): string => {
    const given = fromEnvironment(env, name);
    if (given !== undefined) return given;
    const path = join(cacheDirectory, name);
    if (!isExecutable(path)) missing.push(name);
    return path;
  };
  const controllerManager = isControllerManagerOurs(env)
    ? find('kube-controller-manager')
    : optionalControllerManager(env);
  return {
    binaries: {
      etcd: find('etcd'),
      'kube-apiserver': find('kube-apiserver'),
      kubectl: find('kubectl'),
      ...(controllerManager === undefined ? {} : { 'kube-controller-manager': controllerManager }),
    },
    missing: BINARY_NAMES.filter((name) => missing.includes(name)),
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

/** An API server from outside may be of any version, and a controller manager must not be newer: then ours is not for it. */
function isControllerManagerOurs(env: NodeJS.ProcessEnv): boolean {
  return !env.KUBEBUILDER_ASSETS && !env[variableOf('kube-apiserver')];
}

function optionalControllerManager(env: NodeJS.ProcessEnv): string | undefined {
  if (env[variableOf('kube-controller-manager')]) return fromEnvironment(env, 'kube-controller-manager');
  const assets = env.KUBEBUILDER_ASSETS;
  const path = assets ? join(assets, 'kube-controller-manager') : undefined;
  return path !== undefined && isExecutable(path) ? path : undefined;
}

function fromEnvironment(env: NodeJS.ProcessEnv, name: BinaryName): string | undefined {
  const variable = variableOf(name);
  const file = env[variable];
  if (file) return executable(file, `${variable}=${file}`);
  const assets = env.KUBEBUILDER_ASSETS;
  return assets ? executable(join(assets, name), `KUBEBUILDER_ASSETS=${assets}`) : undefined;
}

function variableOf(name: BinaryName): string {
  return `TEST_ASSET_${name.replaceAll('-', '_').toUpperCase()}`;
}

function executable(path: string, setting: string): string {
  if (isExecutable(path)) return path;
  throw new Error(
    `${setting}: expected an executable ${path}; correct the variable, or unset it to build our own`,
  );
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
