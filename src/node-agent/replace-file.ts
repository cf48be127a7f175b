import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Makes the file say this, for whoever opens it either as it was or as it is to be. */
export async function replaceFile(path: string, content: string | Uint8Array, mode = 0o644): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  // In the same directory, and not with the name of a plugin or of a bridge.
  const draft = `${path}.new`;
  await writeFile(draft, content, { mode });
  await rename(draft, path);
}

/** The file's text; undefined where there is none. */
export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Whether the file or directory is not there. */
export function isMissing(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 'ENOENT';
}
