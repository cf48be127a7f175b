import { lstat, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { NODE_IPAM } from '../network/api/names.ts';
import { IPAM_SCRIPT } from './ipam-script.ts';
import { isMissing, readIfThere, replaceFile } from './replace-file.ts';

/** The plugins of github.com/containernetworking/plugins that Networks need on a node. */
const PLUGINS = ['bridge', 'static', 'host-local'] as const;
const EXECUTABLE = 0o755;

export interface CniPluginsOptions {
  /** Where the node's container runtime looks for plugins. */
  readonly directory: string;
  /** The directory of the plugins to install. */
  readonly source: string;
}

/**
 * Installs our own plugin and those that the node lacks. Resolves with the names of the installed plugins. Never
 * replaces other plugins.
 * @throws Error if the node lacks a plugin and the source does not have it.
 */
export async function installPlugins({ directory, source }: CniPluginsOptions): Promise<readonly string[]> {
  const written: string[] = [];
  for (const name of PLUGINS) {
    const path = join(directory, name);
    if (await isThere(path)) continue;
    await replaceFile(path, await readPlugin(join(source, name)), EXECUTABLE);
    written.push(name);
  }
  const own = join(directory, NODE_IPAM);
  if ((await readIfThere(own)) !== IPAM_SCRIPT) {
    await replaceFile(own, IPAM_SCRIPT, EXECUTABLE);
    written.push(NODE_IPAM);
  }
  return written;
}

/** Whether the path exists. Counts links, too, which only the node may be able to follow. */
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
    throw new Error(`the node lacks a CNI plugin, and ${path} cannot be read`, {
      cause,
    });
  }
}
