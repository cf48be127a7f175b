import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { tryBuildLock, waitForBuildLock } from '../control-plane/build-lock.ts';
import { cacheRoot } from '../control-plane/cache-directory.ts';

/** A user's one cluster that runs in the background: what another program is to know of it. */
export interface KeptCluster {
  /** Of the program that keeps it, and ends it at SIGTERM. */
  readonly pid: number;
  /** Once it is ready. */
  readonly ready?: {
    readonly kubeconfigPath: string;
    readonly logs: string;
    /** The directory of the node's registry. */
    readonly images: string;
    /** Of the machine's first process. */
    readonly machinePid: number;
  };
}

/** By whoever keeps the cluster. */
export interface Keeping {
  tell(ready: NonNullable<KeptCluster['ready']>): void;
  end(): void;
}

/** From now on this program keeps the cluster; undefined where another one does. While it does, its file says what is true. */
export function keepCluster(): Keeping | undefined {
  mkdirSync(dirname(file()), { recursive: true });
  const lock = tryBuildLock(lockFile());
  if (lock === undefined) return undefined;
  const write = (cluster: KeptCluster) => writeFileSync(file(), JSON.stringify(cluster), { mode: 0o600 });
  write({ pid: process.pid });
  return {
    tell: (ready) => write({ pid: process.pid, ready }),
    end: () => {
      rmSync(file());
      lock.release();
    },
  };
}

/** The cluster that is kept now, if one is. */
export function findKeptCluster(): KeptCluster | undefined {
  mkdirSync(dirname(file()), { recursive: true });
  const lock = tryBuildLock(lockFile());
  if (lock === undefined) return JSON.parse(readFileSync(file(), 'utf8')) as KeptCluster;
  // Left by a program that was killed.
  rmSync(file(), { force: true });
  lock.release();
  return undefined;
}

/** Resolves once nobody keeps one. */
export async function untilNoneIsKept(): Promise<void> {
  (await waitForBuildLock(lockFile())).release();
}

function file(): string {
  return join(cacheRoot(process.env), 'cluster.json');
}

function lockFile(): string {
  return join(cacheRoot(process.env), '.cluster.lock');
}
