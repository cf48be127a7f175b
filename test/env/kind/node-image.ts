import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { type CachedImage, imageKey } from '../cluster/images/image-cache.ts';
import { writeOciLayout } from '../cluster/images/oci-layout.ts';
import { chosenKubernetes } from '../control-plane/kubernetes.ts';
import { startSupervisor } from '../control-plane/supervisor.ts';
import { eventually } from '../eventually.ts';
import { PINS_FILE } from '../go/pins.ts';
import { sendArchive } from './docker-archive.ts';
import { kindFiles } from './kind-files.ts';
import { makeNodeImages } from './node-images.ts';
import type { Programs } from './programs.ts';

const run = promisify(execFile);
const UNITS = ['kubelet', 'containerd', 'undo-mount-hacks'];
/** Units of systemd that have no use in a container: as kind's images/base/Dockerfile removes them. */
const UNWANTED =
  'rm -f lib/systemd/system/{multi-user,local-fs,basic}.target.wants/* etc/systemd/system/*.wants/* ' +
  'lib/systemd/system/sockets.target.wants/*{udev,initctl}* ' +
  'lib/systemd/system/sysinit.target.wants/systemd-tmpfiles-setup.service';
/** Where programs go. */
const PLACES: Readonly<Record<string, string>> = {
  ...{ kubeadm: 'usr/bin', kubelet: 'usr/bin', kubectl: 'usr/bin', crictl: 'usr/local/bin' },
  ...{ containerd: 'usr/local/bin', ctr: 'usr/local/bin', 'containerd-shim-runc-v2': 'usr/local/bin' },
};
const ENTRYPOINT = ['/kind/bin/init.sh', '/usr/local/bin/entrypoint', '/sbin/init'];

/**
 * As kindest/node, made as kind makes it (images/base/Dockerfile and pkg/build/nodeimage), from Debian and from programs
 * built here. It has no storage provisioner, and a shell script for kindnetd.
 */
export async function nodeImage(debian: string, programs: Programs, module: string): Promise<CachedImage> {
  const own = await kindFiles(module);
  const recipes = ['node-image.ts', 'node-images.ts'].map((name) => join(dirname(own.scripts), name));
  const scripts = (await readdir(own.scripts)).map((name) => join(own.scripts, name));
  const contents = await Promise.all([...recipes, ...scripts, PINS_FILE].map((file) => readFile(file)));
  return {
    name: 'kind-node',
    key: await imageKey(debian, ...contents),
    kept: 1,
    make: async (layout, scratch, detail) => {
      const rootfs = join(scratch, 'rootfs');
      detail('copying Debian');
      await run('cp', ['-a', debian, rootfs]);
      await addKind(rootfs, own.base, own.scripts);
      for (const [name, place] of Object.entries(PLACES))
        await cp(programs[name] ?? '', join(rootfs, place, name));
      await addManifests(rootfs, own.network);
      await writeFile(join(rootfs, 'etc/containerd/cri-base.json'), await baseSpec(programs.ctr ?? ''));
      detail('making images of the control plane');
      const { stdout } = await run(programs.kubeadm ?? '', [
        'config',
        'images',
        'list',
        '--kubernetes-version',
        version(),
      ]);
      const images = await makeNodeImages(
        join(scratch, 'images'),
        stdout.trim().split('\n'),
        programs,
        module,
      );
      detail('importing them');
      await importImages(rootfs, scratch, programs, images);
      await rm(join(scratch, 'images'), { recursive: true });
      detail('packing');
      await writeOciLayout(layout, rootfs, {
        Env: ['container=docker', 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'],
        Entrypoint: ENTRYPOINT,
        StopSignal: 'SIGRTMIN+3',
      });
    },
  };
}

/** Of the Kubernetes in it. */
function version(): string {
  return chosenKubernetes(process.env).version;
}

async function addKind(rootfs: string, base: string, scripts: string): Promise<void> {
  await run('cp', ['-rT', '--no-preserve=mode', base, rootfs]);
  await cp(join(scripts, 'init.sh'), join(rootfs, 'kind/bin/init.sh'));
  const units = join(rootfs, 'etc/systemd/system');
  await run('bash', ['-c', `chmod -R 755 kind/bin usr/local/bin; ${UNWANTED}`], { cwd: rootfs });
  const wanted = join(units, 'multi-user.target.wants');
  await mkdir(wanted, { recursive: true });
  for (const unit of UNITS)
    await symlink(`/etc/systemd/system/${unit}.service`, join(wanted, `${unit}.service`));
  // It registers what is the kernel's, for all of the machine outside.
  await symlink('/dev/null', join(units, 'systemd-binfmt.service'));
  await symlink('/lib/systemd/systemd', join(rootfs, 'sbin/init'));
  await writeFile(join(rootfs, 'etc/systemd/journald.conf'), '[Journal]\nReadKMsg=no\n');
  await mkdir(join(rootfs, 'etc/kubernetes/manifests'), { recursive: true });
  await mkdir(join(rootfs, 'opt/cni/bin'), { recursive: true });
  for (const plugin of ['host-local', 'loopback', 'ptp', 'portmap']) {
    await cp(join(rootfs, 'usr/lib/cni', plugin), join(rootfs, 'opt/cni/bin', plugin));
  }
  // Lowering it takes CAP_SYS_RESOURCE, which a container that we run in may not have.
  await replaceIn(
    join(rootfs, 'etc/containerd/config.toml'),
    'restrict_oom_score_adj = false',
    'restrict_oom_score_adj = true',
  );
  // Kubernetes 1.35 and later otherwise refuse cgroup v1, which this machine may have.
  await replaceIn(
    join(rootfs, 'etc/default/kubelet'),
    'KUBELET_EXTRA_ARGS=',
    'KUBELET_EXTRA_ARGS=--fail-cgroupv1=false ',
  );
}

async function addManifests(rootfs: string, network: string): Promise<void> {
  await mkdir(join(rootfs, 'kind/manifests'), { recursive: true });
  await writeFile(join(rootfs, 'kind/version'), version());
  await writeFile(join(rootfs, 'kind/manifests/default-cni.yaml'), network);
}

async function replaceIn(file: string, text: string, by: string): Promise<void> {
  const before = await readFile(file, 'utf8');
  if (!before.includes(text)) throw new Error(`${file}: expected ${text}`);
  await writeFile(file, before.replace(text, by));
}

/** What each container begins with: as kind's Dockerfile makes it of `ctr oci spec`. */
async function baseSpec(ctr: string): Promise<string> {
  const spec = JSON.parse((await run(ctr, ['oci', 'spec'])).stdout);
  spec.hooks = { createContainer: [{ path: '/kind/bin/mount-product-files.sh' }] };
  delete spec.process.rlimits;
  return JSON.stringify(spec);
}

/** By a containerd of ours that keeps them where the node's will look. */
async function importImages(
  rootfs: string,
  scratch: string,
  programs: Programs,
  images: readonly { readonly names: readonly string[]; readonly layout: string }[],
): Promise<void> {
  const [socket, config] = [join(scratch, 'containerd.sock'), join(scratch, 'containerd.toml')];
  const root = join(rootfs, 'var/lib/containerd');
  await mkdir(root, { recursive: true });
  await writeFile(
    config,
    `version = 3\nroot = "${root}"\nstate = "${join(scratch, 'state')}"\n` +
      'disabled_plugins = ["io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime", "io.containerd.grpc.v1.cri", "io.containerd.internal.v1.opt", "io.containerd.nri.v1.nri"]\n' +
      `[grpc]\n  address = "${socket}"\n`,
  );
  const supervisor = await startSupervisor();
  try {
    await supervisor.start({
      name: 'containerd',
      command: programs.containerd ?? '',
      args: ['--config', config],
      output: { file: join(scratch, 'containerd.log') },
    });
    const ctr = (...args: readonly string[]) => ['--address', socket, '--namespace', 'k8s.io', ...args];
    await eventually('containerd answers', async () => {
      await run(programs.ctr ?? '', ctr('version'));
      return true;
    });
    const how = [
      '--label=io.cri-containerd.pinned=pinned',
      '--all-platforms',
      '--no-unpack',
      '--digests',
      '-',
    ];
    for (const { names, layout } of images) {
      await sendArchive(layout, names, programs.ctr ?? '', ctr('images', 'import', ...how), process.env);
    }
  } finally {
    await supervisor.stop();
  }
}
