import { copyFile, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureRequirements } from '../env/cluster/debian-packages.ts';
import { busyboxImage } from '../env/cluster/images/busybox.ts';
import { DEFAULT_PATH } from '../env/cluster/images/default-path.ts';
import { type CachedImage, ensureImage, imageKey } from '../env/cluster/images/image-cache.ts';
import { writeOciLayout } from '../env/cluster/images/oci-layout.ts';
import { ensurePause, pauseImage } from '../env/cluster/images/pause.ts';
import { addBusybox, copyProgram, findProgram } from '../env/cluster/images/rootfs.ts';
import { BUSYBOX, type Requirement } from '../env/cluster/requirements.ts';
import { chosenKubernetes } from '../env/control-plane/kubernetes.ts';
import type { ProgressStream } from '../env/control-plane/progress.ts';
import { projectDirectory } from '../env/control-plane/project-directory.ts';
import { runCommand } from '../env/control-plane/run-command.ts';
import { ensureGoProgram } from '../env/go/go-program.ts';
import { moduleFiles } from '../env/go/locked-module.ts';

/** Kubernetes' own e2e, as programs and images. */
export interface Suite {
  /** Its tests, and what runs them side by side. */
  readonly tests: string;
  readonly ginkgo: string;
  /** OCI layouts, by the names that the tests give them. */
  readonly images: ReadonlyMap<string, string>;
}

/** What tests call in their image. */
const PROGRAMS = [
  { program: 'curl', debianPackage: 'curl' },
  { program: 'getent', debianPackage: 'libc-bin' },
  { program: 'dig', debianPackage: 'bind9-dnsutils' },
  { program: 'nc.openbsd', debianPackage: 'netcat-openbsd' },
] as const;

/** Builds it once, from the module that the control plane is of: 15 minutes on two CPUs. */
export async function ensureSuite(progress: ProgressStream): Promise<Suite> {
  const programs = PROGRAMS.map(
    ({ program: name, debianPackage }): Requirement => ({
      name,
      debianPackage,
      probe: ['sh', '-c', `command -v ${name}`],
    }),
  );
  await ensureRequirements([BUSYBOX, ...programs], progress);
  const pin = chosenKubernetes({ ...process.env, KUBEBUILDER_ASSETS: '' });
  const build = (name: string, source: string) =>
    ensureGoProgram({ name, package: source, pin }, process.env, progress);
  const agnhost = await build('agnhost', `${pin.module}/test/images/agnhost`);
  const ginkgo = await build('ginkgo', 'github.com/onsi/ginkgo/v2/ginkgo');
  const tests = await build('e2e.test', join(projectDirectory(), 'test/judge/e2e_test.go'));
  const sources = join(await moduleFiles(pin, pin.module, process.env), 'test/images/agnhost');
  const layouts: Readonly<Record<string, string>> = {
    agnhost: await ensureImage(await agnhostImage(agnhost, sources), progress),
    busybox: await ensureImage(await busyboxImage(), progress),
    pause: await ensureImage(await pauseImage(await ensurePause(process.env, progress)), progress),
    nginx: await ensureImage(await webImage(), progress),
  };
  const { stdout } = await runCommand(tests, ['--list-images'], {}, '');
  const images = stdout
    .trim()
    .split('\n')
    .flatMap((name): [string, string][] => {
      const [, kind = name.includes('/pause:') ? 'pause' : ''] =
        /\/e2e-test-images\/(agnhost|busybox|glibc-dns-testing|nginx):/.exec(name) ?? [];
      const layout = kind === '' ? undefined : (layouts[kind] ?? layouts.agnhost);
      return layout === undefined ? [] : [[name, layout]];
    });
  return { tests, ginkgo, images: new Map(images) };
}

/** As its Dockerfile makes it, as far as these tests use it. */
async function agnhostImage(agnhost: string, sources: string): Promise<CachedImage> {
  return {
    name: 'agnhost',
    key: await imageKey(JSON.stringify(PROGRAMS), await readFile(agnhost)),
    kept: 1,
    make: async (layout, scratch) => {
      const rootfs = join(scratch, 'rootfs');
      await addBusybox(rootfs);
      await copyFile(agnhost, join(rootfs, 'agnhost'));
      await symlink('agnhost', join(rootfs, 'agnhost-2'));
      for (const file of ['localhost.crt', 'localhost.key'])
        await copyFile(join(sources, 'porter', file), join(rootfs, file));
      // The shell of busybox calls its own nc.
      await rm(join(rootfs, 'bin/sh'));
      await copyProgram(rootfs, await findProgram('dash'), '/bin/sh');
      for (const { program } of PROGRAMS)
        await copyProgram(rootfs, await findProgram(program), `/usr/local/bin/${program.split('.')[0]}`);
      await mkdir(join(rootfs, 'uploads'));
      const Env = [DEFAULT_PATH];
      await writeOciLayout(layout, rootfs, { Entrypoint: ['/agnhost'], Cmd: ['pause'], Env });
    },
  };
}

/** A page on port 80, where nginx has it. */
async function webImage(): Promise<CachedImage> {
  const pages = '/usr/share/nginx/html';
  return {
    name: 'web',
    key: await imageKey(await readFile(await findProgram('busybox'))),
    make: async (layout, scratch) => {
      await addBusybox(scratch);
      await mkdir(join(scratch, pages), { recursive: true });
      await writeFile(join(scratch, pages, 'index.html'), 'a page\n');
      const Cmd = ['httpd', '-f', '-p', '80', '-h', pages];
      // As a container's first process it would not heed SIGTERM.
      await writeOciLayout(layout, scratch, { Cmd, Env: [DEFAULT_PATH], StopSignal: 'SIGKILL' });
    },
  };
}
