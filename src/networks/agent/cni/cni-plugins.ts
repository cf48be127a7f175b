import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { OVS_SCRIPT } from '../../../addons/neutron/node/ovs-script.ts';
import { NODE_IPAM, NODE_OVS } from '../../api/names.ts';
import { isThere, readIfThere, replaceFile } from '../replace-file.ts';
import { IPAM_SCRIPT } from './ipam-script.ts';

/** The plugins of github.com/containernetworking/plugins that Networks need on a node. */
const PLUGINS = ['bridge', 'static', 'host-local'] as const;
/** Our own plugins. */
const OWN = [
  [NODE_IPAM, IPAM_SCRIPT],
  [NODE_OVS, OVS_SCRIPT],
] as const;
const EXECUTABLE = 0o755;

export interface CniPluginsOptions {
  /** Where the node's container runtime looks for plugins. */
  readonly directory: string;
  /** The directory of the plugins to install. */
  readonly source: string;
}

/**
 * Installs our own plugins and those that the node lacks. Resolves with the names of the installed plugins. Never
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
  for (const [name, script] of OWN) {
    const own = join(directory, name);
    if ((await readIfThere(own)) === script) continue;
    await replaceFile(own, script, EXECUTABLE);
    written.push(name);
  }
  return written;
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
