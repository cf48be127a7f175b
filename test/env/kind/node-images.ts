import { chmod, copyFile, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { addIptables } from '../cluster/images/capture.ts';
import { DEFAULT_PATH } from '../cluster/images/default-path.ts';
import { type ImageConfig, writeOciLayout } from '../cluster/images/oci-layout.ts';
import { kindFiles } from './kind-files.ts';
import type { Programs } from './programs.ts';

/** An image that is on each node from the start. */
export interface NodeImage {
  readonly names: readonly string[];
  readonly layout: string;
}

const NOTHING: ImageConfig = { Env: [DEFAULT_PATH] };

/**
 * Makes the images that kubeadm and kind start on a node, below a directory: each is one static program, but for
 * kube-proxy and kindnetd, which call iptables.
 * @param names what `kubeadm config images list` prints
 */
export async function makeNodeImages(
  directory: string,
  names: readonly string[],
  programs: Programs,
  kindModule: string,
): Promise<readonly NodeImage[]> {
  const named = (part: string) => names.find((name) => name.includes(`/${part}:`)) ?? part;
  const make = async (
    name: string,
    files: Readonly<Record<string, string>>,
    config: ImageConfig = NOTHING,
    fill: (rootfs: string) => Promise<void> = async () => {},
  ) => {
    const [rootfs, layout] = ['rootfs', 'layout'].map((part) => join(directory, name, part)) as [
      string,
      string,
    ];
    for (const path of [rootfs, layout]) await mkdir(path, { recursive: true });
    await fill(rootfs);
    for (const [path, source] of Object.entries(files)) {
      await mkdir(dirname(join(rootfs, path)), { recursive: true });
      await copyFile(source, join(rootfs, path));
      await chmod(join(rootfs, path), 0o755);
    }
    await writeOciLayout(layout, rootfs, config);
    return layout;
  };
  const images: NodeImage[] = [];
  for (const name of ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'etcd']) {
    const layout = await make(name, { [`usr/local/bin/${name}`]: programs[name] ?? '' });
    images.push({ names: [named(name)], layout });
  }
  const coredns = await make('coredns', { coredns: programs.coredns ?? '' }, { Entrypoint: ['/coredns'] });
  const pause = await make('pause', { pause: programs.pause ?? '' }, { Entrypoint: ['/pause'] });
  const { kindnetd, sandbox, scripts } = await kindFiles(kindModule);
  const network = await make(
    'network',
    {
      'usr/local/bin/kube-proxy': programs['kube-proxy'] ?? '',
      'usr/local/bin/kubectl': programs.kubectl ?? '',
      'bin/kindnetd': join(scripts, 'kindnetd.sh'),
    },
    { ...NOTHING, Cmd: ['/bin/kindnetd'] },
    addIptables,
  );
  return [
    ...images,
    { names: [named('coredns/coredns')], layout: coredns },
    { names: [...new Set([named('pause'), sandbox])], layout: pause },
    { names: [named('kube-proxy'), kindnetd], layout: network },
  ];
}
