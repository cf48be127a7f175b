import { cp, glob, mkdir, readdir, readFile, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DEFAULT_PATH } from './default-path.ts';
import { type CachedImage, imageKey } from './image-cache.ts';
import { writeOciLayout } from './oci-layout.ts';
import { addBusybox, copyLibraries, copyProgram, findProgram } from './rootfs.ts';

/** Names by which the one program is called; Debian's alternatives may mean its older kind by them. */
const COMMANDS = ['iptables', 'iptables-restore', 'iptables-save'];
/** Matches and targets, which it loads as it needs them. */
const EXTENSIONS = '/usr/lib/*/xtables';

/** As deploy/transparent/Dockerfile makes it, from the machine's own iptables and busybox. */
export async function captureImage(): Promise<CachedImage> {
  const program = await findProgram('xtables-nft-multi');
  return {
    name: 'capture',
    key: await imageKey(await readFile(program)),
    make: async (layout, scratch) => {
      const rootfs = join(scratch, 'rootfs');
      await addIptables(rootfs);
      await writeOciLayout(layout, rootfs, { Cmd: ['sh'], Env: [DEFAULT_PATH] });
    },
  };
}

/** Adds iptables, and busybox. */
export async function addIptables(rootfs: string): Promise<void> {
  const program = await findProgram('xtables-nft-multi');
  await addBusybox(rootfs);
  await copyProgram(rootfs, program, '/usr/sbin/xtables-nft-multi');
  for (const command of COMMANDS.flatMap((name) => [name, name.replace('ip', 'ip6')])) {
    await symlink(basename(program), join(rootfs, 'usr/sbin', command));
  }
  for await (const extensions of glob(EXTENSIONS)) {
    await mkdir(join(rootfs, dirname(extensions)), { recursive: true });
    await cp(extensions, join(rootfs, extensions), { recursive: true });
    const files = (await readdir(extensions)).filter((name) => name.endsWith('.so'));
    await copyLibraries(
      rootfs,
      files.map((name) => join(extensions, name)),
    );
  }
}
