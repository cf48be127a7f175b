import { execFile } from 'node:child_process';
import { copyFile, cp, mkdir, readFile, realpath, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { CNI_PLUGINS } from '../requirements.ts';
import { searchPath } from '../search-path.ts';
import { DEFAULT_PATH } from './default-path.ts';
import { type CachedImage, imageKey } from './image-cache.ts';
import { writeOciLayout } from './oci-layout.ts';
import { addBusybox, copyProgram, findProgram } from './rootfs.ts';

const run = promisify(execFile);
/** Those that our image has for nodes that lack them. */
const OWN_PLUGINS = ['bridge', 'static'];
/** Those that our image has for node agents. */
const OWN_PROGRAMS = ['ip', 'bridge', 'nft'];
const CA_BUNDLE = '/etc/ssl/certs/ca-certificates.crt';

/**
 * As docker.io/library/node, as far as our Dockerfile needs it: the Node that runs this program, the machine's npm with
 * the registry and the authorities that it is configured for, busybox for a shell, and the machine's
 * CNI plugins and programs for networks.
 */
export async function nodeBaseImage(): Promise<CachedImage> {
  const npm = dirname(dirname(await realpath(await findProgram('npm'))));
  const [registry = '', cafile] = await Promise.all([npmConfig('registry'), npmConfig('cafile')]);
  const authorities = cafile ?? process.env.NODE_EXTRA_CA_CERTS ?? '';
  const npmVersion = await readFile(join(npm, 'package.json'));
  const programs = [
    ...OWN_PLUGINS.map((name) => join(CNI_PLUGINS, name)),
    ...OWN_PROGRAMS.map((name) => join('/usr/sbin', name)),
  ];
  const contents = await Promise.all(programs.map((path) => readFile(path)));
  return {
    name: 'node',
    key: await imageKey(process.version, npmVersion, registry, authorities, ...contents),
    make: async (layout, scratch) => {
      await addBusybox(scratch);
      await copyProgram(scratch, process.execPath, '/usr/local/bin/node');
      for (const path of programs) await copyProgram(scratch, path, path);
      await cp(npm, join(scratch, 'usr/local/lib/node_modules/npm'), { recursive: true });
      await symlink('../lib/node_modules/npm/bin/npm-cli.js', join(scratch, 'usr/local/bin/npm'));
      // What npm's first line names.
      await mkdir(join(scratch, 'usr/bin'), { recursive: true });
      await symlink('/bin/busybox', join(scratch, 'usr/bin/env'));
      await writeNpmrc(scratch, registry, authorities);
      await writeOciLayout(layout, scratch, { Cmd: ['node'], Env: [DEFAULT_PATH] });
    },
  };
}

/** npm's global configuration, where it looks for it beside its Node. */
async function writeNpmrc(rootfs: string, registry: string, authorities: string): Promise<void> {
  const lines = [`registry=${registry}`];
  if (authorities !== '') {
    await mkdir(join(rootfs, dirname(CA_BUNDLE)), { recursive: true });
    await copyFile(authorities, join(rootfs, CA_BUNDLE));
    lines.push(`cafile=${CA_BUNDLE}`);
  }
  await mkdir(join(rootfs, 'usr/local/etc'), { recursive: true });
  await writeFile(join(rootfs, 'usr/local/etc/npmrc'), `${lines.join('\n')}\n`);
}

/** The user's setting, if there is one. */
async function npmConfig(key: string): Promise<string | undefined> {
  const env = { ...process.env, PATH: searchPath() };
  const { stdout } = await run('npm', ['config', 'get', key], { env });
  return stdout.trim() === 'null' ? undefined : stdout.trim();
}
