import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { hasCode } from './has-code.ts';

/** What a directory is going to grow by. */
export interface DiskNeed {
  /** What sets this path, for the message. */
  readonly setting: string;
  readonly path: string;
  readonly bytes: number;
}

/** A file system: equal devices are the same one. */
export interface FileSystem {
  readonly device: number;
  readonly freeBytes: number;
}

/** Rejects where the file systems of these directories, which need not exist yet, have less free than they need together. */
export async function requireDiskSpace(
  needs: readonly DiskNeed[],
  fileSystemOf: (path: string) => Promise<FileSystem> = readFileSystem,
  purpose = 'build the control plane',
): Promise<void> {
  const groups = new Map<number, { free: number; needs: DiskNeed[] }>();
  for (const need of needs) {
    const { device, freeBytes } = await fileSystemOf(need.path);
    const group = groups.get(device) ?? { free: freeBytes, needs: [] };
    group.needs.push(need);
    groups.set(device, group);
  }
  const shortages = [...groups.values()].flatMap(({ free, needs: here }) => {
    const needed = here.reduce((sum, { bytes }) => sum + bytes, 0);
    if (needed <= free) return [];
    const places = here.map(({ setting, path, bytes }) => `${gigabytes(bytes)} in ${path} (${setting})`);
    return [`${gigabytes(needed)} needed, ${gigabytes(free)} free: ${places.join(', ')}`];
  });
  if (shortages.length === 0) return;
  throw new Error(
    `not enough disk space to ${purpose}: ${shortages.join('; ')}. Free some, or set these variables to another disk`,
  );
}

async function readFileSystem(path: string): Promise<FileSystem> {
  try {
    const [{ dev }, { bavail, bsize }] = await Promise.all([stat(path), statfs(path)]);
    return { device: dev, freeBytes: bavail * bsize };
  } catch (err) {
    if (!hasCode(err, 'ENOENT') || dirname(path) === path) throw err;
    return readFileSystem(dirname(path));
  }
}

function gigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(1)} GB`;
}
