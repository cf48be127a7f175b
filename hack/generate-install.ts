import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findBinaries } from '../test/env/control-plane/build.ts';
import { projectDirectory } from '../test/env/control-plane/project-directory.ts';
import { runCommand } from '../test/env/control-plane/run-command.ts';

/**
 * Renders deploy/overlays/default into one file, for users without kustomize or a checkout.
 * `node hack/generate-install.ts` writes it. `--check` only compares, and exits 1 if it differs.
 */
const FILE = join(projectDirectory(), 'deploy/install.yaml');
const OVERLAY = join(projectDirectory(), 'deploy/overlays/default');
const HEADER = '# Rendered from deploy/overlays/default by `make manifests`: do not edit.\n';

const { kubectl } = await findBinaries(process.env);
const { code, stdout, stderr } = await runCommand(kubectl, ['kustomize', OVERLAY], {}, '');
if (code !== 0) throw new Error(`kubectl kustomize ${OVERLAY}: ${stderr.trim()}`);
const rendered = `${HEADER}${stdout}`;
if (!process.argv.includes('--check')) await writeFile(FILE, rendered);
else if ((await readFile(FILE, 'utf8')) !== rendered) {
  process.stderr.write('deploy/install.yaml does not match deploy/overlays/default: run `make manifests`\n');
  process.exitCode = 1;
}
