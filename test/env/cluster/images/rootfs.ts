import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { runCommand } from '../../control-plane/run-command.ts';
import { searchPath } from '../search-path.ts';

const run = promisify(execFile);

/** Copies a program to a path of an image's files, and the shared libraries that it needs to where it looks for them. */
export async function copyProgram(rootfs: string, program: string, path: string): Promise<void> {
  await copy(program, join(rootfs, path));
  await copyLibraries(rootfs, [program]);
}

/** Copies the shared libraries that programs, or other libraries, need to where they are looked for. */
export async function copyLibraries(rootfs: string, programs: readonly string[]): Promise<void> {
  for (const library of await sharedLibraries(programs)) await copy(library, join(rootfs, library));
}

/** Adds busybox with a link for each of its commands, and the files by which users and groups have names. */
export async function addBusybox(rootfs: string): Promise<void> {
  const busybox = await findProgram('busybox');
  await copyProgram(rootfs, busybox, '/bin/busybox');
  const { stdout } = await run(busybox, ['--list']);
  const commands = stdout.split('\n').filter((name) => name !== '' && name !== 'busybox');
  for (const name of commands) await symlink('busybox', join(rootfs, 'bin', name));
  await mkdir(join(rootfs, 'etc'));
  await writeFile(
    join(rootfs, 'etc/passwd'),
    'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n',
  );
  await writeFile(join(rootfs, 'etc/group'), 'root:x:0:\nnobody:x:65534:\n');
  await mkdir(join(rootfs, 'root'), { mode: 0o700 });
  await mkdir(join(rootfs, 'tmp'));
  await chmod(join(rootfs, 'tmp'), 0o1777);
}

/** The path of a program on the search path. */
export async function findProgram(name: string): Promise<string> {
  const { stdout } = await run('sh', ['-c', 'command -v "$1"', 'sh', name], { env: { PATH: searchPath() } });
  return stdout.trim();
}

/** Their paths as the loader finds them, the loader's own among them; none for a static program. */
async function sharedLibraries(programs: readonly string[]): Promise<Set<string>> {
  const { code, stdout, stderr } = await runCommand('ldd', programs, { PATH: searchPath() }, '');
  if (code !== 0 && !stderr.includes('not a dynamic executable')) throw new Error(`ldd: ${stderr.trim()}`);
  // `libm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x…)`, and the loader as `/lib64/ld-linux-x86-64.so.2 (0x…)`.
  return new Set([...stdout.matchAll(/(?:=> |^\s+)(\/\S+) \(0x/gm)].flatMap(([, path]) => path ?? []));
}

async function copy(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  await copyFile(from, to);
}
