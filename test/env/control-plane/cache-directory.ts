import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Pin } from '../go/pins.ts';
import { ETCD } from './kubernetes.ts';

/** A system that Go builds for, in Go's own words. */
export interface Target {
  readonly goos: string;
  readonly goarch: string;
}

const GOARCH: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' };

/** The system this program runs on. kube-apiserver knows Linux and macOS. */
export function hostTarget(): Target {
  const { platform, arch } = process;
  if (platform !== 'linux' && platform !== 'darwin') {
    throw new Error(`the control plane runs on linux and darwin, got ${platform}: use a container or WSL`);
  }
  return { goos: platform, goarch: GOARCH[arch] ?? arch };
}

/** Where this project keeps what takes long to get, between runs and between checkouts. */
export function cacheRoot(env: NodeJS.ProcessEnv): string {
  return join(env.XDG_CACHE_HOME || join(env.HOME || homedir(), '.cache'), 'envoy-initializer');
}

/** Where binaries of this version of Kubernetes, and the etcd that all versions run with, are kept for this system. */
export function cacheDirectory(env: NodeJS.ProcessEnv, kubernetes: Pin): string {
  const { goos, goarch } = hostTarget();
  const digest = [kubernetes, ETCD].map(({ lock }) => lock.slice(0, 6)).join('');
  return join(cacheRoot(env), 'control-plane', `${kubernetes.version}-${digest}`, `${goos}-${goarch}`);
}
