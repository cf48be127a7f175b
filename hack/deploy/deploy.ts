import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { projectDirectory } from '../../test/env/control-plane/project-directory.ts';
import { imageParts } from './image-reference.ts';
import { type Kubectl, lines, output, Refusal } from './kubectl.ts';

export interface DeployOptions {
  readonly kubectl: Kubectl;
  /** A directory of deploy/overlays, or any path, or several names of deploy/components with spaces between them. */
  readonly overlay: string;
  /** The image to use instead of the one in the manifests. */
  readonly image: string;
  readonly timeoutSeconds: number;
  /** Called with each line of progress. */
  readonly say: (line: string) => void;
}

/** What an overlay may contain that gets ready. */
const WORKLOADS = [
  {
    name: 'deployment.apps/envoy-initializer',
    namespace: 'envoy-initializer',
    whatIs: 'the operator is',
  },
  {
    name: 'daemonset.apps/envoy-initializer-node-agent',
    namespace: 'envoy-initializer-node-agent',
    whatIs: 'the node agents are',
  },
];

/** Applies an overlay and waits until the operator and its node agents are ready. @throws Refusal if they are not ready in time. */
export async function deploy(options: DeployOptions): Promise<void> {
  const applied = await applyOverlay(options);
  for (const workload of WORKLOADS)
    if (applied.some((line) => line.startsWith(`${workload.name} `))) await untilReady(options, workload);
}

/** Returns the lines that kubectl has printed. */
async function applyOverlay({ kubectl, overlay, image, say }: DeployOptions): Promise<readonly string[]> {
  // kustomize resolves symbolic links before `..` in a path.
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'envoy-initializer-deploy-')));
  try {
    await writeKustomization(directory, overlay, image);
    await refuseWithoutKinds(kubectl, directory);
    const applied = await lines(kubectl, ['apply', '-k', directory]);
    for (const line of applied) say(line);
    // The pods then keep their image, also if the tag has another one by now.
    if (applied.includes('deployment.apps/envoy-initializer unchanged'))
      say(
        'the Deployment has not changed. If its image has, restart it: kubectl rollout restart deployment/envoy-initializer --namespace envoy-initializer',
      );
    return applied;
  } finally {
    await rm(directory, { recursive: true });
  }
}

async function untilReady(
  { kubectl, timeoutSeconds, say }: DeployOptions,
  { name, namespace, whatIs }: (typeof WORKLOADS)[number],
): Promise<void> {
  say(`waiting for ${name}, ${timeoutSeconds} s at most`);
  const inNamespace = `--namespace=${namespace}`;
  const { code, stderr } = await kubectl([
    'rollout',
    'status',
    inNamespace,
    name,
    `--timeout=${timeoutSeconds}s`,
  ]);
  if (code === 0) return say(`${whatIs} ready`);
  const states = await output(kubectl, ['get', 'pods', inNamespace]);
  throw new Refusal(`${whatIs} not ready (${stderr.trim()}):\n${states}`);
}

/** The projects whose kinds overlays use. */
const PROJECTS: Readonly<Record<string, string>> = {
  'cert-manager.io': 'cert-manager',
  'monitoring.coreos.com': 'Prometheus Operator',
};

/** Refuses before anything is applied, because a part of the overlay would stop the running operator. */
async function refuseWithoutKinds(kubectl: Kubectl, directory: string): Promise<void> {
  const { stderr } = await kubectl(['apply', '-k', directory, '--dry-run=client']);
  const [, kind, version = ''] = /no matches for kind "(\w+)" in version "([^"]+)"/.exec(stderr) ?? [];
  if (kind === undefined) return;
  const [group = ''] = version.split('/');
  throw new Refusal(
    `the cluster has no ${kind} of ${version}, so nothing was applied: install ${PROJECTS[group] ?? 'it'} first`,
  );
}

/** Writes a kustomization that sets the image over the overlay, so that the project's files do not change. */
async function writeKustomization(directory: string, overlay: string, image: string): Promise<void> {
  const bases = basesOf(overlay);
  const toDirectory = (path: string) => relative(directory, path);
  const kustomization = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    resources: [toDirectory(bases.resource)],
    components: bases.components.map(toDirectory),
    images: [{ name: 'envoy-initializer', ...imageParts(image) }],
  };
  await writeFile(join(directory, 'kustomization.yaml'), JSON.stringify(kustomization));
}

/** The directories that an overlay consists of. @throws Refusal for one that does not exist. */
function basesOf(overlay: string): { readonly resource: string; readonly components: readonly string[] } {
  const directory = join(projectDirectory(), 'deploy');
  const namesIn = (part: string) => readdirSync(join(directory, part));
  const names = overlay.split(/[\s,]+/).filter((name) => name !== '');
  const missing = names.filter((name) => !namesIn('components').includes(name));
  if (names.length < 2) {
    const ours = join(directory, 'overlays', overlay);
    const resource = existsSync(ours) ? ours : overlay;
    if (existsSync(resource)) return { resource, components: [] };
    const known = [...new Set([...namesIn('overlays'), ...namesIn('components')])].sort().join(', ');
    if (missing.length > 0 || names.length === 0)
      throw new Refusal(`overlay "${overlay}" does not exist: write one of ${known}, or a path`);
  }
  if (missing.length > 0)
    throw new Refusal(
      `no component ${missing.join(', ')}: to combine overlays, write some of ${namesIn('components').join(', ')}`,
    );
  const components = names.map((name) => join(directory, 'components', name));
  return { resource: join(directory, 'overlays', 'default'), components };
}
