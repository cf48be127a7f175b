import { readdirSync } from 'node:fs';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findBinaries } from '../test/env/control-plane/build.ts';
import { projectDirectory } from '../test/env/control-plane/project-directory.ts';
import { neededBy, render } from './helm/render.ts';
import { type Change, helmTemplate, valueName } from './helm/template.ts';
import { withValues } from './helm/values.ts';

/**
 * Writes the manifests of the Helm chart: deploy/overlays/default, and in an `if` what each of deploy/components changes; and
 * a copy of the CRDs of the Gateway API, because a chart has only files below it.
 * `node hack/generate-helm.ts` writes them. `--check` only compares, and exits 1 if they differ.
 */
const DEPLOY = join(projectDirectory(), 'deploy');
const FILE = join(DEPLOY, 'helm/templates/manifests.yaml');
const GATEWAY_API = join(projectDirectory(), 'crd/gateway-api');
const HEADER =
  '{{- /* Rendered from deploy/overlays/default and deploy/components by `make manifests`: do not edit. */ -}}\n';
/** Stands for the namespace of the release. */
const NAMESPACE = 'namespace-of-the-release';

const { kubectl } = await findBinaries(process.env);
const of = (...components: readonly string[]) => render(kubectl, components, NAMESPACE);
const changes: Record<string, Change> = {};
for (const name of readdirSync(join(DEPLOY, 'components')).toSorted()) {
  const needed = neededBy(name);
  changes[valueName(name)] = { before: await of(...needed), after: await of(...needed, name) };
}
const template = helmTemplate(await of(), changes);
const rendered = `${HEADER}${withValues(template, NAMESPACE)}`;
if (!process.argv.includes('--check')) {
  await writeFile(FILE, rendered);
  for (const crd of ['httproutes.yaml', 'referencegrants.yaml']) {
    await copyFile(join(GATEWAY_API, crd), join(DEPLOY, 'helm/files', crd));
  }
} else if ((await readFile(FILE, 'utf8')) !== rendered) {
  process.stderr.write('deploy/helm/templates/manifests.yaml does not match deploy: run `make manifests`\n');
  process.exitCode = 1;
}
