import { lstat, mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Replaces the content of the file atomically: readers see the old or the new content. */
export async function replaceFile(path: string, content: string | Uint8Array, mode = 0o644): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  // In the same directory, with a name that no plugin or bridge has.
  const draft = `${path}.new`;
  await writeFile(draft, content, { mode });
  await rename(draft, path);
}

export async function readIfThere(path: string): Promise<string | undefined> {
  return await readFile(path, 'utf8').catch(unlessMissing);
}

/** Whether the path exists. Counts links, too, which only the node may be able to follow. */
export async function isThere(path: string): Promise<boolean> {
  return (await lstat(path).catch(unlessMissing)) !== undefined;
}

/** The names in a directory; none if it does not exist. */
export async function namesIn(directory: string): Promise<readonly string[]> {
  return (await readdir(directory).catch(unlessMissing)) ?? [];
}

/** @throws the error, unless it says that a file or directory does not exist */
export function unlessMissing(error: unknown): undefined {
  const isMissing = typeof error === 'object' && error !== null && 'code' in error && error.code === 'ENOENT';
  if (!isMissing) throw error;
}
