import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { obstacles } from '../../../hack/release/obstacles.ts';
import { pinBases } from '../../../hack/release/pin-bases.ts';
import { provenance } from '../../../hack/release/provenance.ts';
import { readSource } from '../../../hack/release/source.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';

const BASE = `node:26-slim@sha256:${'a'.repeat(64)}`;
let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'release-'));
});
afterEach(() => rm(directory, { recursive: true }));

/** Writes a shell script that stands for a program, and resolves to its path. */
async function program(name: string, script: string): Promise<string> {
  const file = join(directory, name);
  await writeFile(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return file;
}

test("make base-digest writes the registry's digest, and keeps the tag", async () => {
  const digest = `sha256:${'b'.repeat(64)}`;
  const crane = await program('crane', `[ "$*" = "digest node:26-slim" ] && echo ${digest}`);
  await writeFile(join(directory, 'Dockerfile'), `ARG BASE=${BASE}\nFROM \${BASE}\n`);
  await pinBases(crane, directory, ['Dockerfile'], { write: () => true });
  const text = await readFile(join(directory, 'Dockerfile'), 'utf8');
  expect(text).toBe(`ARG BASE=node:26-slim@${digest}\nFROM \${BASE}\n`);
});

const run = promisify(execFile);
const git = (...args: readonly string[]) =>
  run('git', ['-C', directory, '-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args]);

test('the source of a release is the commit, the changed files and the remote without its password', async () => {
  await git('init', '--quiet');
  await writeFile(join(directory, 'kept'), '1');
  await git('add', '.');
  await git('commit', '--quiet', '--message', 'first');
  const { stdout } = await git('rev-parse', 'HEAD');
  const revision = stdout.trim();
  expect(await readSource(directory)).toEqual({ revision, changed: [], uri: undefined });

  await git('remote', 'add', 'origin', 'https://user:secret@example.com/project.git');
  await writeFile(join(directory, 'kept'), '2');
  await writeFile(join(directory, 'new'), '');
  const uri = 'git+https://example.com/project.git';
  expect(await readSource(directory)).toEqual({ revision, changed: ['kept', 'new'], uri });
});

/** Packages with an install script that the build does without: their binaries are packages of their own. */
const DO_WITHOUT = ['node_modules/@parcel/watcher', 'node_modules/esbuild', 'node_modules/unrs-resolver'];

test('npm runs no install script of a package with the .npmrc of the project', async () => {
  const write = async (name: string, content: object) => {
    await mkdir(join(directory, name));
    await writeFile(join(directory, name, 'package.json'), JSON.stringify({ name, ...content }));
  };
  await write('dependency', { version: '1.0.0', scripts: { postinstall: 'touch installed-by-script' } });
  await write('project', { dependencies: { dependency: 'file:../dependency' } });
  const project = join(directory, 'project');
  await cp(join(projectDirectory(), '.npmrc'), join(project, '.npmrc'));
  await run('npm', ['install', '--offline', '--install-links'], { cwd: project });
  expect(await readdir(join(project, 'node_modules', 'dependency'))).toEqual(['package.json']);
});

test('no package is installed that is known to need its script', async () => {
  const lock: { packages: Readonly<Record<string, { hasInstallScript?: boolean }>> } = JSON.parse(
    await readFile(join(projectDirectory(), 'package-lock.json'), 'utf8'),
  );
  const scripted = Object.entries(lock.packages).filter(([, { hasInstallScript }]) => hasInstallScript);
  expect(scripted.map(([path]) => path).toSorted()).toEqual(DO_WITHOUT);
});

const dockerfiles = globSync('{Dockerfile,deploy/**/Dockerfile}', { cwd: projectDirectory() }).toSorted();

test('the search for Dockerfiles finds them', () => {
  expect(dockerfiles).toEqual(['Dockerfile', 'deploy/transparent/Dockerfile']);
});

test.each(dockerfiles)('%s names its base by tag and digest', (file) => {
  const text = readFileSync(join(projectDirectory(), file), 'utf8');
  expect(text.match(/^ARG BASE=\S+:[\w.-]+@sha256:[0-9a-f]{64}$/m)).not.toBeNull();
  const bases = [...text.matchAll(/^FROM (\S+)/gm)].map(([, base]) => base);
  expect(bases.filter((base) => !/^(\$\{BASE\}|scratch)$/.test(base ?? ''))).toEqual([]);
});

const revision = '1'.repeat(40);
const build = {
  settings: {
    image: 'registry.example.com/app:1',
    base: `docker.io/library/node:26-slim@sha256:${'a'.repeat(64)}`,
    key: 'cosign.key',
    builder: 'podman',
    pushFlags: ['--creds=user:secret'],
    force: true,
    transparencyLog: false,
  },
  source: { revision, changed: ['src/main.ts'], uri: 'git+https://example.com/project.git' },
  builderVersion: 'podman version 5',
  startedOn: new Date(0),
  finishedOn: new Date(1_000),
};

test('the provenance has commit, base, parameters and uncommitted files, but no secret', () => {
  expect(provenance(build)).toMatchObject({
    buildDefinition: {
      externalParameters: { image: 'registry.example.com/app:1', force: true },
      internalParameters: { uncommittedFiles: ['src/main.ts'] },
      resolvedDependencies: [
        { uri: 'git+https://example.com/project.git', digest: { gitCommit: revision } },
        { uri: 'docker://docker.io/library/node:26-slim', digest: { sha256: 'a'.repeat(64) } },
      ],
    },
    runDetails: {
      builder: { version: { builder: 'podman version 5' } },
      metadata: { startedOn: '1970-01-01T00:00:00.000Z', finishedOn: '1970-01-01T00:00:01.000Z' },
    },
  });
  expect(JSON.stringify(provenance(build))).not.toMatch(/secret|cosign\.key/);
});

const settings = {
  image: 'registry.example.com/envoy-initializer:0.0.1',
  base: `docker.io/library/node:26-slim@sha256:${'a'.repeat(64)}`,
  key: 'cosign.key',
  builder: 'podman',
  pushFlags: [],
  force: false,
  transparencyLog: false,
};
const found = { source: { changed: [] as readonly string[] }, hasKeyFile: true, hasPassword: true };
const CHANGED = { source: { changed: ['a', 'b', 'c', 'd', 'e'] } };

test.each([
  [{}, {}],
  [{ image: 'localhost/app:1' }, {}],
  [{ image: 'registry:5000/app:1' }, {}],
  [{ force: true }, CHANGED],
  // Of a key management service: no file, and no password.
  [{ key: 'awskms:///alias/release' }, { hasKeyFile: false, hasPassword: false }],
])('a release with %j and %j has no obstacle', (settingsHere, foundHere) => {
  expect(obstacles({ ...settings, ...settingsHere }, { ...found, ...foundHere })).toEqual([]);
});

test.each([
  [{ image: 'team/app:1' }, {}, 'IMAGE=team/app:1 has no registry'],
  [{ image: 'localhost/app@sha256:abc' }, {}, 'IMAGE=localhost/app@sha256:abc has a digest'],
  [{ base: 'node:26-slim' }, {}, 'BASE=node:26-slim has no digest'],
  [{ base: 'node@sha256:abc' }, {}, 'BASE=node@sha256:abc has no digest'],
  [{ builder: '' }, {}, 'docker, podman and buildah are not on the PATH'],
  [{ key: '' }, {}, 'KEY is not set'],
  [{}, { hasKeyFile: false }, 'KEY=cosign.key: the file does not exist'],
  [{}, { hasPassword: false }, 'COSIGN_PASSWORD is not set'],
  [{}, CHANGED, 'the git tree has uncommitted changes (a, b, c and 2 more)'],
])('a release with %j and %j is refused: %s', (settingsHere, foundHere, message) => {
  const refused = obstacles({ ...settings, ...settingsHere }, { ...found, ...foundHere });
  expect(refused).toEqual([expect.stringContaining(message)]);
});

test('a release is refused with all obstacles at once', () => {
  const none = { ...settings, image: 'app', base: 'node', key: '', builder: '' };
  expect(obstacles(none, { ...found, ...CHANGED })).toHaveLength(5);
});
