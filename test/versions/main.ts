import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureBinaries } from '../env/control-plane/build.ts';
import { minorVersions } from '../env/control-plane/kubernetes.ts';
import { projectDirectory } from '../env/control-plane/project-directory.ts';
import { type Result, TABLE, versionTable } from './table.ts';

// Runs suites of test/integration with each version of Kubernetes, or with those that the arguments name. A run of the usual
// suites with all versions writes the table of docs/install.md. SUITES has other suites, such as `cli/ network/`.
const JEST_FLAGS = '--experimental-vm-modules --enable-source-maps --no-warnings';
const document = join(projectDirectory(), 'docs/install.md');
const all = minorVersions();
const asked = (process.env.SUITES ?? '').split(/\s+/).filter(Boolean);
const suites = asked.length > 0 ? asked : ['operator/versions', 'injection/pod-security'];
const chosen = process.argv.length > 2 ? process.argv.slice(2) : all;
const directory = await mkdtemp(join(tmpdir(), 'versions-'));
const file = join(directory, 'results');
await writeFile(file, '');
try {
  for (const version of chosen) {
    const env = { ...process.env, KUBERNETES: version };
    await ensureBinaries(env, process.stderr);
    const { status } = spawnSync(
      'jest',
      [
        '--runInBand',
        '--testPathIgnorePatterns',
        process.env.LONG ?? '/node_modules/',
        '--',
        ...suites.map((suite) => `build/test/integration/${suite}`),
      ],
      {
        cwd: projectDirectory(),
        env: { ...env, VERSIONS_RESULTS: file, NODE_OPTIONS: JEST_FLAGS },
        stdio: 'inherit',
      },
    );
    if (status !== 0) process.exitCode = 1;
  }
  const complete =
    all.every((version) => chosen.includes(version)) && !process.env.SUITES && process.exitCode !== 1;
  if (complete) await writeTable();
} finally {
  await rm(directory, { recursive: true });
}

async function writeTable(): Promise<void> {
  const results = (await readFile(file, 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Result);
  const text = await readFile(document, 'utf8');
  if (!TABLE.test(text)) throw new Error('expected a table of versions in docs/install.md, got none');
  await writeFile(document, text.replace(TABLE, versionTable(results)));
}
