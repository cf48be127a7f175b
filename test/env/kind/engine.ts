import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PORTS } from '../cluster/addresses.ts';
import { registryHosts } from '../cluster/container-config.ts';
import { type Machine, startMachine, sweepMachines } from '../cluster/machine.ts';
import { registryCommand } from '../cluster/registry/command.ts';
import { Component, type ComponentExitedError } from '../control-plane/component.ts';
import { isOk } from '../control-plane/is-ok.ts';
import { runCommand } from '../control-plane/run-command.ts';
import { startSupervisor } from '../control-plane/supervisor.ts';
import { withPrograms } from './debian.ts';

/** CAP_SYS_RESOURCE, as a bit of a process's capabilities: see capabilities(7). */
const SYS_RESOURCE = 1n << 24n;

/** Docker's engine in a machine of its own, with a registry beside it. */
export interface Engine {
  readonly machine: Machine;
  /** Holds what an image registry on the internet would, in the directory that `linkImage` knows. */
  readonly images: string;
  /** A directory with the address of that registry, as containerd's `certs.d`. */
  readonly registryHosts: string;
  /** For Docker's client and kind. */
  readonly env: NodeJS.ProcessEnv;
  /** Resolves when the engine has ended that nobody stopped. */
  readonly failure: Promise<ComponentExitedError>;
  /** Resolves when no process, mount, network, cgroup or file is left. */
  stop(): Promise<void>;
}

/**
 * Starts Docker's engine from unpacked Debian packages in a machine within this one, so that what it does to iptables, the
 * kernel's settings, networks and cgroups ends with it.
 * @param docker stands for `/`: see `ensureDocker`
 */
export async function startEngine(docker: string, pause: string): Promise<Engine> {
  await sweepMachines();
  const outer = await startSupervisor();
  try {
    const machine = await startMachine(outer, pause);
    const inner = await startSupervisor(machine.inside);
    const { directory } = machine;
    const [images, hosts, logs, home] = ['images', 'registry-hosts', 'logs', 'home'].map((name) =>
      join(directory, name),
    ) as [string, string, string, string];
    for (const path of [images, join(hosts, '_default'), logs, home]) await mkdir(path, { recursive: true });
    await writeFile(join(hosts, '_default', 'hosts.toml'), registryHosts(machine.address));
    const env = {
      ...withPrograms(docker),
      HOME: home,
      DOCKER_HOST: `unix://${join(directory, 'docker.sock')}`,
    };
    let fail: (err: ComponentExitedError) => void = () => {};
    const failure = new Promise<ComponentExitedError>((resolve) => {
      fail = resolve;
    });
    const start = (name: string, command: string, args: readonly string[], isReady: () => Promise<boolean>) =>
      new Component(
        inner,
        {
          name,
          command,
          args,
          env: env as Record<string, string>,
          logFile: join(logs, `${name}.log`),
          isReady,
        },
        fail,
      ).start();
    const registry = registryCommand(machine.address, PORTS.registry, images);
    await start('registry', registry.command, registry.args, () =>
      isOk(`http://${machine.address}:${PORTS.registry}/v2/`),
    );
    await start('dockerd', 'sh', await engineCommand(machine), async () => {
      const { code } = await runCommand('docker', ['version'], env, '');
      return code === 0;
    });
    return {
      ...{ machine, images, registryHosts: hosts, env, failure },
      async stop() {
        await inner.stop();
        await outer.stop();
        await machine.gone;
      },
    };
  } catch (err) {
    await outer.stop();
    throw err;
  }
}

/** An overlay cannot lie on an overlay, as a container's own files are: then the machine has memory for its files. */
const START =
  'root=$0; if [ -d "$root/memory" ]; then root=$root/memory; fi; exec dockerd --data-root "$root/docker" "$@"';

async function engineCommand({ directory, name }: Machine): Promise<readonly string[]> {
  const args = [
    `--host=unix://${join(directory, 'docker.sock')}`,
    ...['--exec-root=/run/docker', '--pidfile=/run/docker.pid', '--storage-driver=overlay2'],
    // So that they are removed with those of the machine.
    `--cgroup-parent=/${name}`,
  ];
  return ['-c', START, directory, ...args, ...(await runtime(directory))];
}

/** Docker gives a privileged container all capabilities, which fails where this machine's root lacks one. */
async function runtime(directory: string): Promise<readonly string[]> {
  const status = await readFile('/proc/self/status', 'utf8');
  const capabilities = BigInt(`0x${/^CapBnd:\s*(\w+)$/m.exec(status)?.[1] ?? '0'}`);
  if ((capabilities & SYS_RESOURCE) !== 0n) return [];
  const wrapper = join(directory, 'runc');
  await writeFile(wrapper, RUNC, { mode: 0o755 });
  return [`--add-runtime=lesser=${wrapper}`, '--default-runtime=lesser'];
}

const RUNC = `#!/bin/sh
# runc, without the capability that root lacks here.
previous=
for word in "$@"; do
  file=
  case $previous in
    --bundle | -b) file=$word/config.json ;;
    --process | -p) file=$word ;;
  esac
  case $word in
    --bundle=*) file=\${word#--bundle=}/config.json ;;
    --process=*) file=\${word#--process=} ;;
  esac
  if [ -f "$file" ]; then sed -i 's/"CAP_SYS_RESOURCE",//g; s/,"CAP_SYS_RESOURCE"//g' "$file"; fi
  previous=$word
done
exec runc "$@"
`;
