import { existsSync } from 'node:fs';
import { mkdir, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureGoProgram } from '../cluster/go-program.ts';
import { searchPath } from '../cluster/search-path.ts';
import { waitForBuildLock } from '../control-plane/build-lock.ts';
import { cacheRoot } from '../control-plane/cache-directory.ts';
import { readPinnedModule } from '../control-plane/pinned-module.ts';
import { type ProgressStream, withProgress } from '../control-plane/progress.ts';
import { projectDirectory } from '../control-plane/project-directory.ts';
import { startSupervisor } from '../control-plane/supervisor.ts';
import { runToEnd } from '../neutron/run-to-end.ts';

/** Open vSwitch and OVN, unpacked from Debian's packages, and the CNI plugin ovs. */
export interface OvnPrograms {
  /** With which they run. */
  readonly env: Readonly<Record<'PATH' | 'LD_LIBRARY_PATH', string>>;
  /** The schemas of their databases, by name: `vswitch`, `ovn-nb`, `ovn-sb`. */
  readonly schemas: Readonly<Record<'vswitch' | 'ovn-nb' | 'ovn-sb', string>>;
  /** The path of the CNI plugin. */
  readonly ovsCni: string;
}

/** The programs, and the libraries that a small Debian lacks. */
const PACKAGES = [
  ...['ovn-central', 'ovn-host', 'ovn-common', 'openvswitch-switch', 'openvswitch-common'],
  ...['libunbound8', 'libxdp1', 'libbpf1', 'libnuma1'],
  ...['libcap-ng0', 'libevent-2.1-7', 'libelf1', 'libnghttp2-14'],
];
const OVS_CNI = 'github.com/k8snetworkplumbingwg/ovs-cni/cmd/plugin';
const LIBRARIES: Readonly<Record<string, string>> = {
  x64: 'x86_64-linux-gnu',
  arm64: 'aarch64-linux-gnu',
};

/** Finds them in the cache, and first makes them, in a minute, where they are not there. Rejects where it cannot. */
export async function ensureOvnPrograms(
  env: NodeJS.ProcessEnv,
  progress: ProgressStream,
): Promise<OvnPrograms> {
  const root = join(cacheRoot(env), 'ovn', 'debian');
  if (!existsSync(root)) await unpack(root, progress);
  const at = (...path: readonly string[]) => join(root, 'usr', ...path);
  const directory = join(projectDirectory(), 'test', 'env', 'ovn', 'ovs-cni');
  const { goVersion } = await readPinnedModule();
  const sources = ['go.mod', 'go.sum'].map((name) => join(directory, name));
  const ovsCni = await ensureGoProgram(
    { name: 'ovs-cni', directory, package: OVS_CNI, goVersion, sources },
    env,
    progress,
  );
  const programs = [at('bin'), at('sbin'), at('lib', 'openvswitch-switch'), searchPath()];
  return {
    env: {
      PATH: programs.join(':'),
      LD_LIBRARY_PATH: at('lib', LIBRARIES[process.arch] ?? process.arch),
    },
    schemas: {
      vswitch: at('share', 'openvswitch', 'vswitch.ovsschema'),
      'ovn-nb': at('share', 'ovn', 'ovn-nb.ovsschema'),
      'ovn-sb': at('share', 'ovn', 'ovn-sb.ovsschema'),
    },
    ovsCni,
  };
}

/** Nothing is installed: the packages would start their services. */
async function unpack(root: string, progress: ProgressStream): Promise<void> {
  const cache = join(root, '..');
  await mkdir(cache, { recursive: true });
  const lock = await waitForBuildLock(join(cache, '.unpack.lock'));
  const supervisor = await startSupervisor();
  try {
    if (existsSync(root)) return;
    const temporary = await supervisor.makeDirectory(join(cache, '.unpacking-'));
    const made = join(temporary, 'made');
    await withProgress(progress, 'unpacking Open vSwitch and OVN', async (detail) => {
      const env = { ...process.env, PATH: searchPath() };
      const run = (command: string, ...args: readonly string[]) => {
        detail(command);
        return runToEnd(supervisor, { name: command, command, args, env, cwd: temporary });
      };
      await run('apt-get', 'update');
      await run('apt-get', 'download', ...PACKAGES);
      for (const file of await readdir(temporary)) {
        if (file.endsWith('.deb')) await run('dpkg', '--extract', file, made);
      }
    });
    await rename(made, root);
  } finally {
    await supervisor.stop();
    lock.release();
  }
}
