import { readdirSync } from 'node:fs';
import { appendFile, cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { projectDirectory } from '../../test/env/control-plane/project-directory.ts';
import { httpRouteCrds } from '../../test/env/gateway-api-crds.ts';
import { about, readme } from './about.ts';
import { neededBy, render } from './render.ts';
import { type Change, helmTemplate, valueName } from './template.ts';
import { withValues } from './values.ts';

const DEPLOY = join(projectDirectory(), 'deploy');
/** Stands for the namespace of the release. */
const NAMESPACE = 'namespace-of-the-release';

/**
 * Writes the Helm chart into a directory: deploy/helm, with the manifests of deploy/overlays/default, and in an `if` what
 * each of deploy/components changes; and the CRDs of the Gateway API, because a chart has only files below it. `repository`
 * is the URL of the sources.
 */
export async function writeChart(kubectl: string, directory: string, repository?: string): Promise<void> {
  const of = (...components: readonly string[]) => render(kubectl, components, NAMESPACE);
  const changes: Record<string, Change> = {};
  for (const name of readdirSync(join(DEPLOY, 'components')).toSorted()) {
    const needed = neededBy(name);
    changes[valueName(name)] = { before: await of(...needed), after: await of(...needed, name) };
  }
  const manifests = withValues(helmTemplate(await of(), changes), NAMESPACE);
  await cp(join(DEPLOY, 'helm'), directory, { recursive: true });
  await writeFile(join(directory, 'templates/manifests.yaml'), manifests);
  const chart = join(directory, 'Chart.yaml');
  const values = await readFile(join(directory, 'values.yaml'), 'utf8');
  const changelog = await readFile(join(projectDirectory(), 'CHANGELOG.md'), 'utf8');
  await appendFile(chart, about(changelog, repository));
  const [, description = ''] = /^description: (.*)$/m.exec(await readFile(chart, 'utf8')) ?? [];
  await writeFile(join(directory, 'README.md'), readme(values, description));
  const crds = await httpRouteCrds();
  await mkdir(join(directory, 'files'));
  for (const file of await readdir(crds))
    if (file !== 'kustomization.yaml') await cp(join(crds, file), join(directory, 'files', file));
}
