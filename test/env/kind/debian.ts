import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { searchPath } from '../cluster/search-path.ts';
import { cacheRoot } from '../control-plane/cache-directory.ts';
import { type ProgressStream, withProgress } from '../control-plane/progress.ts';
import { runCommand } from '../control-plane/run-command.ts';
import { ensureDebianPackages } from '../debian-packages.ts';
import { makeWhole } from '../whole-directory.ts';

/** Docker's engine with its client, and what makes a system of Debian packages. */
const PACKAGES = ['docker.io', 'containerd', 'runc', 'tini', 'libdevmapper1.02.1', 'mmdebstrap'];
/**
 * What kind's images/base/Dockerfile installs, without storage over the network; and runc and the CNI plugins, which it
 * builds. `containernetworking-plugins` also has those of Multus' examples.
 */
const NODE_PACKAGES = [
  ...['systemd', 'conntrack', 'iptables', 'nftables', 'iproute2', 'ethtool', 'util-linux', 'mount', 'kmod'],
  ...['libseccomp2', 'pigz', 'bash', 'ca-certificates', 'curl', 'jq', 'procps'],
  ...['runc', 'containernetworking-plugins'],
  // For rules of Calico.
  'ipset',
];
const UNUSED = ['doc', 'man', 'locale', 'zoneinfo'];

/** Gets Docker's packages once; resolves to the directory that stands for `/`. */
export function ensureDocker(progress: ProgressStream): Promise<string> {
  return ensureDebianPackages('docker', PACKAGES, process.env, progress);
}

/** What runs a program of that directory. */
export function withPrograms(root: string): NodeJS.ProcessEnv {
  const libraries = ['usr/lib/x86_64-linux-gnu', 'usr/lib/aarch64-linux-gnu'].map((path) => join(root, path));
  const directories = ['usr/bin', 'usr/sbin'].map((path) => join(root, path));
  return { PATH: [...directories, searchPath()].join(':'), LD_LIBRARY_PATH: libraries.join(':') };
}

/** Installs Debian, of this machine's version and from its mirror, into a directory of the cache, once. */
export async function ensureDebian(docker: string, progress: ProgressStream): Promise<string> {
  const release = await readFile('/etc/os-release', 'utf8');
  const suite = /^VERSION_CODENAME=(.*)$/m.exec(release)?.[1] ?? '';
  const directory = join(cacheRoot(process.env), 'kind-base', `${suite}-${NODE_PACKAGES.length}`);
  if (existsSync(directory)) return directory;
  const mirror = await mirrorOf(suite);
  await withProgress(progress, 'installing Debian for the node image', (detail) =>
    makeWhole(directory, async (_, whole) => {
      const paths = UNUSED.map((name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`);
      const packages = `--include=${NODE_PACKAGES.join(',')}`;
      const args = ['--variant=minbase', '--mode=root', packages, ...paths, suite, whole, mirror];
      detail('mmdebstrap');
      const { code, stderr } = await runCommand(
        'mmdebstrap',
        args,
        { ...process.env, ...withPrograms(docker) },
        '',
      );
      if (code !== 0) throw new Error(`mmdebstrap: ${stderr.trim().split('\n').slice(-10).join('\n')}`);
    }),
  );
  return directory;
}

async function mirrorOf(suite: string): Promise<string> {
  const args = ['indextargets', '--format', '$(SITE)', 'Created-By: Packages', `Codename: ${suite}`];
  const { stdout } = await runCommand('apt-get', args, { PATH: searchPath() }, '');
  const [mirror = ''] = stdout.split('\n');
  if (mirror === '')
    throw new Error(`apt-get knows no mirror of ${suite || 'this system: it is not Debian or Ubuntu'}`);
  return mirror;
}
