import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findBinaries } from '../test/env/control-plane/build.ts';
import { projectDirectory } from '../test/env/control-plane/project-directory.ts';
import { runCommand } from '../test/env/control-plane/run-command.ts';
import { writeChart } from './helm/chart.ts';
import { readSource, repositoryOf } from './release/source.ts';

/**
 * Writes what deploy/ makes for users without a checkout into a directory, by default out/: install.yaml, which is
 * deploy/overlays/default, and the Helm chart, helm/envoy-initializer.
 */
const directory = process.argv[2] ?? join(projectDirectory(), 'out');
const overlay = join(projectDirectory(), 'deploy/overlays/default');
const chart = join(directory, 'helm/envoy-initializer');

const { kubectl } = await findBinaries(process.env);
const { code, stdout, stderr } = await runCommand(kubectl, ['kustomize', overlay], {}, '');
if (code !== 0) throw new Error(`kubectl kustomize ${overlay}: ${stderr.trim()}`);
await rm(chart, { recursive: true, force: true });
await mkdir(chart, { recursive: true });
await writeFile(join(directory, 'install.yaml'), stdout);
// An archive of the sources has no origin.
const source = await readSource(projectDirectory()).catch(() => undefined);
await writeChart(kubectl, chart, repositoryOf(source?.uri));
