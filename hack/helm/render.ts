import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { loadAll } from 'js-yaml';
import { projectDirectory } from '../../test/env/control-plane/project-directory.ts';
import { runCommand } from '../../test/env/control-plane/run-command.ts';
import type { Manifests } from './template.ts';

const DEPLOY = join(projectDirectory(), 'deploy');
/** Their node agents have a namespace of their own. */
const OUTSIDE = ['networks', 'neutron-pods'];

/** The components that a component needs. */
export function neededBy(component: string): readonly string[] {
  return component === 'neutron-pods' ? ['networks'] : [];
}

/**
 * Renders deploy/overlays/default with these of deploy/components, in a namespace, as docs/install.md says. The object of
 * the namespace is left out, because Helm creates it.
 */
export async function render(
  kubectl: string,
  components: readonly string[],
  namespace: string,
): Promise<Manifests> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'envoy-initializer-helm-')));
  try {
    const operator = join(directory, 'operator');
    await mkdir(operator);
    const path = (name: string) => relative(operator, join(DEPLOY, name));
    await kustomization(operator, {
      namespace,
      resources: [path('overlays/default')],
      components: components
        .filter((name) => !OUTSIDE.includes(name))
        .map((name) => path(`components/${name}`)),
      transformers: [path('namespace')],
    });
    await kustomization(directory, {
      resources: ['operator'],
      components: OUTSIDE.filter((name) => components.includes(name)).map((name) =>
        relative(directory, join(DEPLOY, 'components', name)),
      ),
    });
    const { code, stdout, stderr } = await runCommand(kubectl, ['kustomize', directory], {}, '');
    if (code !== 0) throw new Error(`kubectl kustomize with ${components.join(', ')}: ${stderr.trim()}`);
    const objects = new Map(stdout.split(/^---\n/m).map((text) => [keyOf(text), text]));
    objects.delete(`Namespace//${namespace}`);
    return objects;
  } finally {
    await rm(directory, { recursive: true });
  }
}

async function kustomization(directory: string, content: object): Promise<void> {
  await writeFile(join(directory, 'kustomization.yaml'), JSON.stringify(content));
}

function keyOf(text: string): string {
  const [{ kind, metadata }] = loadAll(text) as [
    { readonly kind: string; readonly metadata: { readonly namespace?: string; readonly name: string } },
  ];
  return `${kind}/${metadata.namespace ?? ''}/${metadata.name}`;
}
