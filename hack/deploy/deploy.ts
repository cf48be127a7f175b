import { existsSync } from 'node:fs';
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { projectDirectory } from '../../test/env/control-plane/project-directory.ts';
import { imageParts } from './image-reference.ts';
import { type Kubectl, lines, output, Refusal } from './kubectl.ts';

export interface DeployOptions {
  readonly kubectl: Kubectl;
  /** A directory of deploy/overlays, or any path. */
  readonly overlay: string;
  /** The image to use instead of the one in the manifests. */
  readonly image: string;
  readonly timeoutSeconds: number;
  /** Called with each line of progress. */
  readonly say: (line: string) => void;
}

/** Applies an overlay and waits until the operator is ready. @throws Refusal if it is not ready in time. */
export async function deploy({ kubectl, overlay, image, timeoutSeconds, say }: DeployOptions): Promise<void> {
  // kustomize resolves symbolic links before `..` in a path.
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'envoy-initializer-deploy-')));
  try {
    await writeKustomization(directory, overlay, image);
    for (const line of await lines(kubectl, ['apply', '-k', directory])) say(line);
  } finally {
    await rm(directory, { recursive: true });
  }
  const deployment = ['--namespace=envoy-initializer', 'deployment/envoy-initializer'];
  say(`waiting for ${deployment[1]}, ${timeoutSeconds} s at most`);
  const { code, stderr } = await kubectl([
    'rollout',
    'status',
    ...deployment,
    `--timeout=${timeoutSeconds}s`,
  ]);
  if (code !== 0) {
    const pods = ['get', 'pods', '--namespace=envoy-initializer', '--selector=app=envoy-initializer'];
    const states = await output(kubectl, pods);
    throw new Refusal(`the operator is not ready (${stderr.trim()}):\n${states}`);
  }
}

/** Writes a kustomization that sets the image over the overlay, so that the project's files do not change. */
async function writeKustomization(directory: string, overlay: string, image: string): Promise<void> {
  const ours = join(projectDirectory(), 'deploy', 'overlays', overlay);
  const path = existsSync(ours) ? ours : overlay;
  if (!existsSync(path))
    throw new Refusal(`overlay ${overlay} does not exist: write one of deploy/overlays, or a path`);
  const kustomization = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    resources: [relative(directory, path)],
    images: [{ name: 'envoy-initializer', ...imageParts(image) }],
  };
  await writeFile(join(directory, 'kustomization.yaml'), JSON.stringify(kustomization));
}
