import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import type { Machine } from '../../env/cluster/machine.ts';
import { isRunning } from '../operator/is-running.ts';

/** The namespaces that a machine has, as the kernel numbers them: no other has the same while one process is in it. */
export interface MachineNamespaces {
  readonly pid: string;
  readonly net: string;
}

export function namespacesOf(machine: Machine): MachineNamespaces {
  const [pid = '', net = ''] = ['pid', 'net'].map((kind) => readlinkSync(`/proc/${machine.pid}/ns/${kind}`));
  return { pid, net };
}

/** Everything of a cluster that can be seen on this machine, by kind. */
export function tracesOf(machine: Machine, namespaces: MachineNamespaces) {
  const { name } = machine;
  // One that has ended waits for its parent, or for init, to hear of it: that is not for us to do.
  const running = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry) && isRunning(Number(entry)));
  return {
    processes: running.filter((pid) => isIn(pid, 'pid', namespaces.pid) || commandLine(pid).includes(name)),
    networks: running.filter((pid) => isIn(pid, 'net', namespaces.net)),
    cables: run('ip', '-oneline', 'link')
      .split('\n')
      .filter((line) => line.includes(`ei-${name.slice(-6)}`)),
    mounts: lines(readFileSync('/proc/self/mountinfo', 'utf8'), name),
    cgroups: readdirSync('/sys/fs/cgroup', { withFileTypes: true })
      .map((entry) => `/sys/fs/cgroup/${entry.name}/${name}`)
      .concat(`/sys/fs/cgroup/${name}`)
      .filter(existsSync),
    rules: ['iptables-save', 'ip6tables-save'].flatMap((save) => lines(run(save), 'KUBE-')),
    files: [machine.directory, `/run/${name}.lock`].filter(existsSync),
  };
}

/** What a node, unlike a process that only runs, would change on the machine that it is on. */
export function machineState(): Readonly<Record<string, unknown>> {
  const settings = ['vm/overcommit_memory', 'vm/panic_on_oom', 'kernel/panic', 'kernel/panic_on_oops'];
  const limits = ['kernel/keys/root_maxkeys', 'kernel/keys/root_maxbytes', 'net/netfilter/nf_conntrack_max'];
  const directories = ['kubelet', 'cni', 'containerd'].map((name) => `/var/lib/${name}`);
  const others = ['/etc/cni/net.d', '/opt/cni', '/run/containerd', '/var/log/pods', '/var/log/containers'];
  return {
    ...Object.fromEntries(
      [...settings, ...limits].map((key) => [key, readIfThere(`/proc/sys/${key}`)] as const),
    ),
    ...Object.fromEntries(
      [...directories, ...others].map(
        (path) => [path, existsSync(path) && readdirSync(path).length] as const,
      ),
    ),
    // Clusters of others come and go meanwhile; our own cable is looked for by name.
    routes: run('ip', 'route').replaceAll(/^.* dev ei-.*\n/gm, ''),
  };
}

function isIn(pid: string, kind: string, namespace: string): boolean {
  try {
    return readlinkSync(`/proc/${pid}/ns/${kind}`) === namespace;
  } catch {
    return false;
  }
}

function commandLine(pid: string): string {
  return readIfThere(`/proc/${pid}/cmdline`) ?? '';
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function lines(text: string, part: string): string[] {
  return text.split('\n').filter((line) => line.includes(part));
}

function run(command: string, ...args: readonly string[]): string {
  return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}
