import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { type FileSystem, requireDiskSpace } from '../../env/control-plane/disk-space.ts';

const needs = [
  { setting: 'GOCACHE', path: '/a/build', bytes: 2e9 },
  { setting: 'GOMODCACHE', path: '/a/modules', bytes: 1e9 },
  { setting: 'XDG_CACHE_HOME', path: '/b/cache', bytes: 0.5e9 },
];

/** /a and /b as two disks with this much free each. */
function disks(a: number, b: number) {
  return async (path: string): Promise<FileSystem> =>
    path.startsWith('/a') ? { device: 1, freeBytes: a } : { device: 2, freeBytes: b };
}

describe('disk space', () => {
  test('is enough where each disk has what its directories need together', async () => {
    await expect(requireDiskSpace(needs, disks(3e9, 0.5e9))).resolves.toBeUndefined();
  });

  test('is short where one disk has enough for each of its directories, but not for both', async () => {
    await expect(requireDiskSpace(needs, disks(2.5e9, 9e9))).rejects.toThrow(
      '3.0 GB needed, 2.5 GB free: 2.0 GB in /a/build (GOCACHE), 1.0 GB in /a/modules (GOMODCACHE). Free some',
    );
  });

  test('is told of every disk that is short', async () => {
    await expect(requireDiskSpace(needs, disks(0, 0))).rejects.toThrow(/3\.0 GB needed.*; 0\.5 GB needed/);
  });

  test('is read from the real disk, for a directory that is yet to be made', async () => {
    const path = join(tmpdir(), 'none', 'such');
    await expect(requireDiskSpace([{ setting: 'X', path, bytes: 1 }])).resolves.toBeUndefined();
    await expect(requireDiskSpace([{ setting: 'X', path, bytes: 1e18 }])).rejects.toThrow(path);
  });
});
