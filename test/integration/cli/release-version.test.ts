import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { VERSION } from '../../../src/kube/util/version.ts';
import { cacheRoot } from '../../env/control-plane/cache-directory.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { type CommandResult, runCommand } from '../../env/control-plane/run-command.ts';
import { httpRouteCrds } from '../../env/gateway-api-crds.ts';

const NAME = 'registry.example.com/envoy-initializer';
const DIGEST = `sha256:${'d'.repeat(64)}`;
const NEXT = '99.0.0';
const BILL = '{"bomFormat":"CycloneDX"}';

let directory: string;
let tree: string;

/** Without the user's configuration of git. The tools are scripts: they need no registry and no key. */
function environment(): Record<string, string> {
  const { PATH = '' } = process.env;
  const git = { GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
  const by = (role: string) => ({ [`GIT_${role}_NAME`]: 'a', [`GIT_${role}_EMAIL`]: 'a@example.com' });
  // What is built once for all checkouts.
  const { KUBEBUILDER_ASSETS = '' } = process.env;
  const cache = { XDG_CACHE_HOME: dirname(cacheRoot(process.env)), KUBEBUILDER_ASSETS };
  const paths = ['cosign', 'crane', 'helm'].map((name) => [name.toUpperCase(), join(directory, name)]);
  const tools = { ...Object.fromEntries(paths), COSIGN_PASSWORD: '' };
  return { PATH, HOME: directory, ...git, ...by('AUTHOR'), ...by('COMMITTER'), ...tools, ...cache };
}

const type = (command: string): Promise<CommandResult> =>
  runCommand('bash', ['-c', `set -e; cd '${tree}'; ${command}`], environment(), '');

async function succeed(command: string): Promise<string> {
  const result = await type(command);
  expect(result).toMatchObject({ code: 0 });
  return result.stdout;
}

// The packages are there: this test runs from them.
const release = (variables: string): Promise<CommandResult> =>
  type(
    `make --no-print-directory --assume-old=node_modules/.installed release IMAGE=${NAME} KEY=${directory}/cosign.key ${variables}`,
  );
const output = (name: string) => readFile(join(tree, 'out', `release-${NEXT}`, name), 'utf8');

/** Copies the files of this project, with uncommitted changes, and commits them in a repository of their own. */
async function copyProject(): Promise<void> {
  const project = projectDirectory();
  const args = ['-C', project, 'ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const { stdout } = await runCommand('git', args, environment(), '');
  const files = stdout.split('\0').filter((file) => file !== '' && existsSync(join(project, file)));
  await Promise.all(files.map((file) => cp(join(project, file), join(tree, file), { recursive: true })));
  await symlink(join(project, 'node_modules'), join(tree, 'node_modules'));
  // The project's own changelog lists nothing right after a release.
  await writeFile(join(tree, 'CHANGELOG.md'), '# Changelog\n\n## [Unreleased]\n\n- A change.\n');
  await succeed(
    'git init --quiet && echo node_modules >>.git/info/exclude && git add . && git commit -qm all',
  );
}

async function writeTools(): Promise<void> {
  const script = (name: string, text: string) =>
    writeFile(join(directory, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  await writeFile(join(directory, 'cosign.key'), '');
  await script('builder', `[ "$1" != push ] || echo ${DIGEST} >"$3"`);
  await script('helm', `echo 'Digest: ${DIGEST}' >&2; echo "$@" >>'${directory}/pushed'`);
  await script('cosign', `echo "$@" >>'${directory}/signed'`);
  await mkdir(join(directory, 'app'));
  await writeFile(join(directory, 'app/sbom.cdx.json'), BILL);
  await script('crane', `tar --create --directory '${directory}' --file "$3" app/sbom.cdx.json`);
}

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'release-version-'));
  tree = join(directory, 'tree');
  await mkdir(tree);
  await httpRouteCrds();
  await copyProject();
  await writeTools();
});
afterAll(() => rm(directory, { recursive: true }));

// In this order: the last one makes the release.

test('make release VERSION= DRY_RUN=1 writes only into out/, and says what a release would lack', async () => {
  const head = await succeed('git rev-parse HEAD');
  const { code, stdout } = await release(`VERSION=${NEXT} DRY_RUN=1 BUILDER= KEY=`);
  expect(code).toBe(0);
  expect(stdout).toContain('a release would stop here: KEY is not set');
  expect(stdout).toContain(`3. build, push and sign ${NAME}:${NEXT} (dry run: skipped`);
  expect(await succeed('git status --porcelain; git tag; git rev-parse HEAD')).toBe(head);
  expect(existsSync(join(tree, 'dist'))).toBe(false);
  expect((await readdir(join(tree, 'out', `release-${NEXT}`))).toSorted()).toEqual([
    'CHANGELOG.md',
    'changes.patch',
    `envoy-initializer-${NEXT}.tgz`,
    `envoy-initializer-chart-${NEXT}.tgz`,
    'install.yaml',
    'notes.md',
  ]);
  expect(await output('CHANGELOG.md')).toMatch(new RegExp(`^## \\[${NEXT}\\] - \\d{4}-\\d\\d-\\d\\d$`, 'm'));
  expect(await output('install.yaml')).toContain(`image: ${NAME}:${NEXT}\n`);
});

test('make release VERSION= commits, tags, signs and writes the files of the release', async () => {
  const { code, stdout } = await release(`VERSION=${NEXT} BUILDER='${directory}/builder'`);
  expect(code).toBe(0);
  expect(await succeed('git log -1 --format=%s; git describe; git status --porcelain')).toBe(
    `chore(release): ${NEXT}\nv${NEXT}\n`,
  );
  const old = `envoy-initializer(-capture)?[:-]${VERSION.replaceAll('.', '\\.')}`;
  expect((await type(`git grep --extended-regexp '${old}' -- ':!CHANGELOG.md'`)).stdout).toBe('');
  expect(await succeed('npm pkg get version')).toBe(`"${NEXT}"\n`);

  const reference = `${NAME}@${DIGEST}`;
  expect(await output('install.yaml')).toContain(`image: ${reference}\n`);
  const chart = `tar -xOf out/release-${NEXT}/envoy-initializer-chart-${NEXT}.tgz envoy-initializer`;
  expect(await succeed(`${chart}/values.yaml`)).toContain(`image: ${reference}\n`);
  expect(await succeed(`${chart}/Chart.yaml`)).toContain(`\nversion: ${NEXT}\n`);
  expect(await succeed(`${chart}/Chart.yaml`)).toContain(`\n      image: ${reference}\n`);
  expect(await readFile(join(directory, 'pushed'), 'utf8')).toMatch(
    new RegExp(
      `^push \\S+/envoy-initializer-chart-${NEXT}\\.tgz oci://${NAME.replace(/[^/]+$/, 'charts')}\n$`,
    ),
  );
  expect(await readFile(join(directory, 'signed'), 'utf8')).toContain(
    `${NAME.replace(/([^/]+)$/, 'charts/$1')}@${DIGEST}\n`,
  );
  expect(await succeed(`${chart}/templates/manifests.yaml`)).toContain('kind: Deployment\n');
  expect(await output('notes.md')).toBe('- A change.\n');
  expect(await output('sbom.cdx.json')).toBe(BILL);
  expect(await readFile(join(directory, 'signed'), 'utf8')).toContain(`${reference}\n`);
  const packed = `tar --extract --to-stdout --file out/release-${NEXT}/envoy-initializer-${NEXT}.tgz`;
  expect(await succeed(`${packed} package/package.json`)).toContain(`"version": "${NEXT}"`);
  expect(stdout).toMatch(
    new RegExp(
      `git push --follow-tags\n   make cli URL=https://…/releases/download/v${NEXT}\n   gh release create v${NEXT} `,
    ),
  );
});

test('make release VERSION= refuses the same version again', async () => {
  const { code, stderr } = await release(`VERSION=${NEXT} BUILDER='${directory}/builder'`);
  expect(code).not.toBe(0);
  expect(stderr).toContain(`not newer than ${NEXT}`);
  expect(stderr).toContain(`the tag v${NEXT} exists`);
  expect(stderr).toContain('CHANGELOG.md lists nothing under Unreleased');
});
