import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { load } from 'js-yaml';
import { VERSION } from '../../../src/kube/util/version.ts';
import { findBinaries } from '../../env/control-plane/build.ts';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { runCommand } from '../../env/control-plane/run-command.ts';
import { startControlPlane } from '../../env/control-plane/start.ts';
import { ensureKrew, findKrew } from '../../env/krew/krew.ts';
import { describeUnless } from '../../support/jest/describe-unless.ts';

const PATIENCE_MS = 300_000;
const NAME = 'envoy-initializer';
const programs = process.env.TEST_KREW
  ? await ensureKrew(process.env, process.stderr)
  : await findKrew(process.env);
let controlPlane: ControlPlane;
/** What `make cli` writes, and links to it as a user makes them. */
let directory: string;
let output: string;
/** The directory of kubectl. */
let kubectl: string;

beforeAll(async () => {
  controlPlane = await startControlPlane();
  directory = await mkdtemp(join(tmpdir(), 'executable-'));
  output = join(directory, 'cli');
  kubectl = dirname((await findBinaries(process.env)).kubectl);
  const url = 'https://example.com/files/';
  const script = join(projectDirectory(), 'hack/cli/build.ts');
  const env = { PATH: process.env.PATH ?? '' };
  const built = await runCommand(process.execPath, [script, '--output', output, '--url', url], env, '');
  expect(built).toMatchObject({ code: 0, stderr: '' });
  for (const link of ['kubectl-envoy']) await symlink(join(output, NAME), join(directory, link));
}, PATIENCE_MS);

afterAll(async () => {
  await controlPlane?.stop();
  await rm(directory, { recursive: true });
}, PATIENCE_MS);

/** Types a command line where there is kubectl, but no Node.js of ours. */
async function type(line: string, input = '') {
  const PATH = [directory, output, kubectl, '/usr/bin', '/bin'].join(':');
  return await runCommand('sh', ['-c', line], { PATH, KUBECONFIG: controlPlane.kubeconfigPath }, input);
}

test('the executable is not built for a URL that krew cannot load', async () => {
  const script = join(projectDirectory(), 'hack/cli/build.ts');
  const flags = ['--output', output, '--url', 'example.com/files'];
  expect(
    await runCommand(process.execPath, [script, ...flags], { PATH: process.env.PATH ?? '' }, ''),
  ).toEqual({
    code: 1,
    stdout: '',
    stderr: 'URL=example.com/files is not where krew can load the archive: write URL=https://…\n',
  });
});

test('the executable runs where there is no Node.js', async () => {
  const none = { PATH: join(directory, 'none') };
  expect(await runCommand(join(output, NAME), ['--version'], none, '')).toEqual({
    code: 0,
    stdout: `${VERSION}\n`,
    stderr: '',
  });
  const linted = await type(`${NAME} lint -`, 'containers: [{name: envoy, imag: x}]');
  expect(linted).toMatchObject({ code: 1, stdout: expect.stringContaining('did you mean image?') });
});

test('the executable has the packages that only some flags need', async () => {
  const flags = ['--log-format=pretty', '--port=0', '--metrics-port=0', '--master=https://127.0.0.1:1'];
  const served = spawn(join(output, NAME), ['serve', ...flags], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(served.stdout, 'data');
  served.kill('SIGKILL');
  expect(String(line)).toMatch(/^\[.*\] INFO: listening/);
});

test('the executable is a plugin of kubectl, with its connection flags', async () => {
  expect((await type('kubectl envoy drift --help')).stdout).toMatch(/^Usage: kubectl envoy drift /);
  // The first request gets as far as the API server's authorization.
  expect(await type('kubectl envoy drift -n web --as=someone --as-group=few --request-timeout=20s')).toEqual({
    code: 2,
    stdout: '',
    stderr:
      'error: cannot read the template: you need the right to get ConfigMap envoy-initializer in namespace envoy-initializer\n',
  });
  const missing = await type('kubectl envoy drift --context=none');
  expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('--context is "none", but the') });
});

test('the executable is packed with its licenses, and the manifest for krew has its digest', async () => {
  const { spec } = load(await readFile(join(output, 'envoy.yaml'), 'utf8')) as {
    spec: { version: string; platforms: readonly [{ uri: string; sha256: string; bin: string }] };
  };
  const [{ uri, sha256, bin }] = spec.platforms;
  const archive = (await readdir(output)).find((name) => name.endsWith('.tar.gz')) ?? '';
  expect(uri).toBe(`https://example.com/files/${archive}`);
  const content = await readFile(join(output, archive));
  expect(sha256).toBe(createHash('sha256').update(content).digest('hex'));
  expect((await type(`tar -tzf ${join(output, archive)}`)).stdout.trim().split('\n')).toEqual([
    bin,
    'LICENSE',
    'LICENSE-node',
    'LICENSES-packages',
  ]);
  expect(await readFile(join(output, 'LICENSES-packages'), 'utf8')).toMatch(/^undici .* \(MIT\)$/m);
});

describeUnless(programs ? undefined : 'krew is not built: make test-release', 'krew', () => {
  const { krew = '', validator = '' } = programs ?? {};
  let env: Record<string, string>;
  const run = (line: string) => runCommand('sh', ['-c', line], env, '');

  beforeAll(async () => {
    const home = join(directory, 'home');
    const bin = join(home, '.local/bin');
    const root = join(home, '.krew');
    await mkdir(bin, { recursive: true });
    await symlink(krew, join(bin, 'kubectl-krew'));
    const PATH = [join(root, 'bin'), bin, kubectl, '/usr/bin', '/bin'].join(':');
    env = { HOME: home, KREW_ROOT: root, PATH, KUBECONFIG: controlPlane.kubeconfigPath };
  });

  test('krew accepts the manifest of the executable as its index does', async () => {
    const { code, stderr } = await run(`${validator} -manifest ${output}/envoy.yaml -skip-install`);
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('validation OK') });
  });

  test('krew installs the executable as a plugin of kubectl', async () => {
    const install = `kubectl krew install --manifest=${output}/envoy.yaml`;
    const { code, stderr } = await run(`${install} --archive="$(echo ${output}/*.tar.gz)"`);
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('Installed plugin: envoy'),
    });
    expect((await run('kubectl envoy version --client')).stdout).toBe(`client: ${VERSION}\n`);
  });
});
