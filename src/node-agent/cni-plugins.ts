import { lstat, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SLICE_IPAM } from '../network/api/names.ts';
import { isMissing, readIfThere, replaceFile } from './replace-file.ts';
import { SLICE_IPAM_SCRIPT } from './slice-ipam.ts';

/** What a Network takes on a node, of github.com/containernetworking/plugins. */
const PLUGINS = ['bridge', 'host-local'] as const;
const EXECUTABLE = 0o755;

export interface CniPluginsOptions {
  /** The node's, where its container runtime looks for plugins. */
  readonly directory: string;
  /** Where there are plugins to install. */
  readonly source: string;
}

/**
 * Puts the plugins onto the node that it lacks, and our own; resolves with the names of those that it wrote. Those of
 * others are never replaced.
 * @throws Error where a plugin is neither there nor to be had.
 */
export async function installPlugins({ directory, source }: CniPluginsOptions): Promise<readonly string[]> {
  const written: string[] = [];
  for (const name of PLUGINS) {
    const path = join(directory, name);
    if (await isThere(path)) continue;
    await replaceFile(path, await readPlugin(join(source, name)), EXECUTABLE);
    written.push(name);
  }
  const own = join(directory, SLICE_IPAM);
  if ((await readIfThere(own)) !== SLICE_IPAM_SCRIPT) {
    await replaceFile(own, SLICE_IPAM_SCRIPT, EXECUTABLE);
    written.push(SLICE_IPAM);
  }
  return written;
}

/** A link to what only the node can follow counts, too. */
async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

async function readPlugin(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (cause) {
    throw new Error(`the node lacks the CNI plugin that ${path} would be, and that is not to be read`, {
      cause,
    });
  }
}
