import { spawn } from 'node:child_process';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type Leftover, type NodeState, withoutRulesOf } from './leftovers.ts';

const LINKS = '/sys/class/net';
/** Where host-local keeps the addresses that it has given out, unless it is told otherwise: a directory a network. */
const ADDRESSES = 'var/lib/cni/networks';
const OUR_BRIDGE = /^nw-[0-9a-f]{12}$/;
const CNI_NETWORK = /^[-a-z0-9]+\.[-a-z0-9]+$/;
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** The node that this process is on, in its network; its file system is at `root`, and has `ip` and `iptables`. */
export class Host {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  async state(): Promise<NodeState> {
    const names = (await readdir(LINKS)).filter((name) => OUR_BRIDGE.test(name));
    const bridges = await Promise.all(
      names.map(async (name) => ({ name, ports: (await entries(join(LINKS, name, 'brif'))).length })),
    );
    const networks = (await entries(join(this.#root, ADDRESSES))).filter((name) => CNI_NETWORK.test(name));
    return { bridges, networks };
  }

  /** The bridge last: as long as it is there, what failed is tried again. */
  async remove({ bridge, networks }: Leftover): Promise<void> {
    for (const name of networks) {
      await rm(join(this.#root, ADDRESSES, name), { recursive: true, force: true });
    }
    for (const iptables of networks.length === 0 ? [] : ['iptables', 'ip6tables']) {
      const script = withoutRulesOf(networks, await this.#run(`${iptables}-save`, ['-t', 'nat']));
      if (script !== undefined) await this.#run(`${iptables}-restore`, ['--noflush'], script);
    }
    await this.#run('ip', ['link', 'delete', bridge]);
  }

  /** Runs one of the node's own programs; resolves with what it printed. */
  async #run(program: string, args: readonly string[], input = ''): Promise<string> {
    const child = spawn('chroot', [this.#root, program, ...args], { env: { PATH }, stdio: 'pipe' });
    child.stdin.end(input);
    const ended = new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    const [code, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
    if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}: ${stderr.trim()}`);
    return stdout;
  }
}

/** None where there is no such directory. */
async function entries(directory: string): Promise<readonly string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}
