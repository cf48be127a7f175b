import type { ProgressStream } from '../control-plane/progress.ts';
import { PAUSE_IMAGE } from './container-config.ts';
import { ensureEcho } from './gateway-api/gateway-api.ts';
import { busyboxImage } from './images/busybox.ts';
import { captureImage } from './images/capture.ts';
import { ECHO_IMAGE, echoImage } from './images/echo.ts';
import { envoyImage } from './images/envoy.ts';
import { ensureImage } from './images/image-cache.ts';
import { nodeBaseImage } from './images/node-base.ts';
import { operatorImage } from './images/operator.ts';
import { pauseImage } from './images/pause.ts';
import { AGENT_PROGRAMS, BUILDAH, BUSYBOX, PYTHON, type Requirement } from './requirements.ts';

/** Images that a cluster can have without a registry outside. */
export type ImageName = 'busybox' | 'echo' | 'envoy' | 'envoy-initializer' | 'envoy-initializer-capture';

interface Recipe {
  /** What manifests call it. */
  readonly names: readonly string[];
  readonly requirements: readonly Requirement[];
  /** Finds or makes its layout. */
  readonly ensure: (progress: ProgressStream) => Promise<string>;
}

const RECIPES: Readonly<Record<ImageName, Recipe>> = {
  busybox: {
    names: ['busybox:latest'],
    requirements: [BUSYBOX],
    ensure: async (progress) => ensureImage(await busyboxImage(), progress),
  },
  echo: {
    names: [ECHO_IMAGE],
    requirements: [BUSYBOX],
    ensure: async (progress) =>
      ensureImage(await echoImage(await ensureEcho(process.env, progress)), progress),
  },
  envoy: {
    names: [
      'envoyproxy/envoy:v1.40.0',
      // The demo's of 2018, which no registry needs to have for its template to work.
      'lyft/envoy:845747db88f102c0fd262ab234308e9e22f693a1',
    ],
    requirements: [BUSYBOX, PYTHON],
    ensure: async (progress) => ensureImage(await envoyImage(), progress),
  },
  'envoy-initializer': {
    names: ['envoy-initializer:0.0.1'],
    requirements: [BUSYBOX, BUILDAH, ...AGENT_PROGRAMS],
    ensure: async (progress) => {
      const base = await ensureImage(await nodeBaseImage(), progress);
      return ensureImage(await operatorImage(base), progress);
    },
  },
  // iptables is the node's own.
  'envoy-initializer-capture': {
    names: ['envoy-initializer-capture:0.0.1'],
    requirements: [BUSYBOX],
    ensure: async (progress) => ensureImage(await captureImage(), progress),
  },
};

/** All of them: what the demo and `deploy/` need. */
export const ALL_IMAGES: readonly ImageName[] = [
  'busybox',
  'envoy',
  'envoy-initializer',
  'envoy-initializer-capture',
];

/** Directories of images (OCI layouts), by the names they are to have. */
export type Layouts = ReadonlyMap<string, string>;

/** What making these images takes. */
export function imageRequirements(images: readonly ImageName[]): Requirement[] {
  return [...new Set(images.flatMap((name) => RECIPES[name].requirements))];
}

/** Finds the images in the cache, the sandbox's among them, and first makes those that are not there. */
export async function ensureImages(
  images: readonly ImageName[],
  pauseProgram: string,
  progress: ProgressStream,
): Promise<Layouts> {
  const layouts = new Map([[PAUSE_IMAGE, await ensureImage(await pauseImage(pauseProgram), progress)]]);
  for (const { names, ensure } of images.map((name) => RECIPES[name])) {
    const layout = await ensure(progress);
    for (const name of names) layouts.set(name, layout);
  }
  return layouts;
}
