import { readFile } from 'node:fs/promises';
import { searchPath } from '../../env/cluster/search-path.ts';
import { runCommand } from '../../env/control-plane/run-command.ts';

/** What Docker, systemd and a kubelet set for the whole of a machine. */
const SETTINGS = [
  ...['vm/overcommit_memory', 'vm/panic_on_oom', 'kernel/panic', 'kernel/panic_on_oops'],
  ...['kernel/keys/root_maxkeys', 'kernel/keys/root_maxbytes', 'kernel/pid_max', 'kernel/core_pattern'],
  ...['fs/file-max', 'fs/nr_open', 'fs/protected_symlinks', 'fs/protected_regular', 'net/ipv4/ip_forward'],
];

/** The kernel's settings and iptables' rules of this machine, to be compared. */
export async function machineSettings(): Promise<string> {
  const settings = SETTINGS.map(async (key) => `${key} ${await readFile(`/proc/sys/${key}`, 'utf8')}`);
  const rules = ['iptables', 'ip6tables'].map(
    async (name) => (await runCommand(name, ['-S'], { PATH: searchPath() }, '')).stdout,
  );
  return (await Promise.all([...settings, ...rules])).join('');
}
