import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { type ProgressStream, withProgress } from './progress.ts';

/** A lock that this process holds. */
export interface BuildLock {
  release(): void;
}

const RETRY_MS = 250;
/** SQLite's result code for a lock that another holds (https://sqlite.org/rescode.html#busy). */
const SQLITE_BUSY = 5;

/**
 * Takes the lock of this file; undefined where another process has it. Node has no flock(2) but SQLite built in,
 * which has: the kernel drops the lock when its owner dies, so that none is ever left behind, and none to be broken.
 */
export function tryBuildLock(file: string): BuildLock | undefined {
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    // Nothing is written, so that there is nothing to roll back from a journal file.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return { release: () => database.close() };
  } catch (err) {
    database.close();
    if (isBusy(err)) return undefined;
    throw err;
  }
}

/** Takes the lock of this file, and says so if it has to wait for another build of `what`. */
export async function takeBuildLock(
  file: string,
  what: string,
  progress: ProgressStream,
): Promise<BuildLock> {
  const lock = tryBuildLock(file);
  return (
    lock ??
    (await withProgress(progress, `waiting for another build of ${what}`, () => waitForBuildLock(file)))
  );
}

/** Takes the lock of this file once nobody else has it. */
export async function waitForBuildLock(file: string): Promise<BuildLock> {
  for (;;) {
    const lock = tryBuildLock(file);
    if (lock !== undefined) return lock;
    await delay(RETRY_MS);
  }
}

function isBusy(err: unknown): boolean {
  return typeof err === 'object' && err !== null && 'errcode' in err && err.errcode === SQLITE_BUSY;
}
