import type { Binaries, NodeBinaries } from '../control-plane/binaries.ts';
import { ensureBinaries, ensureNodeBinaries } from '../control-plane/build.ts';
import type { ProgressStream } from '../control-plane/progress.ts';
import { ensureRequirements } from './debian-packages.ts';
import { ensureDns } from './dns/dns.ts';
import { ensurePause } from './images/pause.ts';
import { ensureImages, type ImageName, imageRequirements, type Layouts } from './images.ts';
import { ensureMultus } from './multus/multus.ts';
import { NODE_REQUIREMENTS } from './requirements.ts';

/** All that is to be there before a cluster starts. */
export interface Preparation {
  readonly binaries: Binaries;
  readonly nodeBinaries: NodeBinaries;
  /** The program pause: the first process of the node's machine. */
  readonly pause: string;
  readonly layouts: Layouts;
  /** The path of CoreDNS. */
  readonly dns: string;
  /** The CNI plugin, where it is asked for. */
  readonly multus?: string;
}

/** What a cluster is to have beside its node. */
export interface Extras {
  readonly images: readonly ImageName[];
  readonly multus: boolean;
}

/** Installs, builds and makes what is missing: minutes on a machine that has nothing yet, no time on one that has all. */
export async function prepareCluster(
  { images, multus }: Extras,
  progress: ProgressStream,
): Promise<Preparation> {
  await ensureRequirements([...NODE_REQUIREMENTS, ...imageRequirements(images)], progress);
  // A node wants a control plane of its own version, with a controller manager: none from outside.
  const env = { ...process.env, KUBEBUILDER_ASSETS: '' };
  const binaries = await ensureBinaries(env, progress);
  const nodeBinaries = await ensureNodeBinaries(env, progress);
  const pause = await ensurePause(env, progress);
  const layouts = await ensureImages(images, pause, progress);
  const dns = await ensureDns(env, progress);
  const preparation = { binaries, nodeBinaries, pause, layouts, dns };
  return multus ? { ...preparation, multus: await ensureMultus(env, progress) } : preparation;
}
