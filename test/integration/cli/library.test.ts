import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { VERSION } from '../../../src/kube/util/version.ts';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { runCommand } from '../../env/control-plane/run-command.ts';
import { startControlPlane } from '../../env/control-plane/start.ts';
import { describeUnless } from '../../support/jest/describe-unless.ts';
import { commandsOf, documents, section } from '../../support/jest/markdown.ts';
import { installNode, OLDEST, TOO_OLD } from '../../support/kube/other-node.ts';

/** npm may be slow. */
const PATIENCE_MS = 600_000;
const EXAMPLES = ['key-counter'];

const oldest = await installNode(OLDEST);
const node20 = await installNode(TOO_OLD);
let controlPlane: ControlPlane;
let directory: string;
/** A project that has nothing but what docs/development.md says. */
let project: string;

async function run(program: string, ...args: readonly string[]): Promise<void> {
  // npm may need more of it to reach the registry.
  const env = { ...process.env, NODE_OPTIONS: '' } as Record<string, string>;
  expect(await runCommand(program, args, env, '')).toMatchObject({ code: 0 });
}

beforeAll(async () => {
  controlPlane = await startControlPlane();
  directory = await realpath(await mkdtemp(join(tmpdir(), 'library-')));
  project = join(directory, 'project');
  await mkdir(project);
  await writeFile(join(project, 'package.json'), '{ "type": "module" }');
  for (const name of EXAMPLES) {
    await cp(join(projectDirectory(), `docs/examples/${name}.ts`), join(project, `${name}.ts`));
  }
  await run(
    process.execPath,
    join(projectDirectory(), 'hack/pack.ts'),
    join(directory, 'envoy-initializer/out'),
  );
  const document = documents().find(({ path }) => path === 'docs/development.md');
  const commands = commandsOf(section(document?.text ?? '', '## The library'));
  expect(commands).toHaveLength(2);
  for (const { command } of commands) await run('bash', '-c', `cd '${project}' && ${command}`);
}, PATIENCE_MS);

afterAll(async () => {
  await controlPlane?.stop();
  await rm(directory, { recursive: true });
}, PATIENCE_MS);

/** kubectl in the namespace default; what it printed. */
async function kubectl(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await controlPlane.kubectl(args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

async function untilCounted(name: string, keys: number): Promise<void> {
  const condition = `--for=jsonpath={.metadata.annotations.example\\.com/keys}=${keys}`;
  await kubectl('wait', condition, `configmap/${name}`, '--timeout=60s');
}

describeUnless(undefined, `the package on Node ${process.version}`, () => runsOn(process.execPath));
describeUnless('obstacle' in node20 ? node20.obstacle : undefined, 'the command on Node 20', () => {
  test('says in one line that Node.js is too old', async () => {
    const command = join(project, 'node_modules/.bin/envoy-initializer');
    const typed = await runCommand('path' in node20 ? node20.path : '', [command, '--version'], {}, '');
    expect(typed).toMatchObject({ code: 2, stdout: '' });
    expect(typed.stderr).toMatch(/^error: expected Node\.js 22\.19 or newer, got v20\.20\.2: .*\n$/);
  });
});
describeUnless('obstacle' in oldest ? oldest.obstacle : undefined, `the package on Node ${OLDEST}`, () => {
  const path = 'path' in oldest ? oldest.path : '';
  runsOn(path);

  test('npm install --global installs the command and the plugin of kubectl, which run on it', async () => {
    const prefix = join(directory, 'global');
    const packed = join(directory, 'envoy-initializer/out');
    const [tarball = ''] = (await readdir(packed)).filter((name) => name.endsWith('.tgz'));
    await run(
      'npm',
      'install',
      '--global',
      '--prefix',
      prefix,
      '--no-audit',
      '--no-fund',
      join(packed, tarball),
    );
    const PATH = [join(prefix, 'bin'), dirname(path), '/usr/bin', '/bin'].join(':');
    const type = (line: string) => runCommand('sh', ['-c', line], { PATH }, '');
    expect(await type('envoy-initializer --version')).toEqual({
      code: 0,
      stdout: `${VERSION}\n`,
      stderr: '',
    });
    expect((await type('kubectl-envoy drift --help')).stdout).toMatch(/^Usage: kubectl envoy drift /);
  });
});

function runsOn(node: string): void {
  let example: ChildProcess | undefined;
  afterEach(async () => {
    example?.kill('SIGKILL');
    await kubectl('delete', 'configmap', 'before', '--ignore-not-found');
  });

  function start(name: string): ChildProcess {
    const started = spawn(node, [join(project, `${name}.js`)], {
      env: { PATH: process.env.PATH, KUBECONFIG: controlPlane.kubeconfigPath },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    example = started;
    return started;
  }

  test.each(['envoy-initializer', 'kubectl-envoy'])('the command %s runs', async (name) => {
    const command = join(project, 'node_modules/.bin', name);
    const linted = await runCommand(node, [command, 'lint', '-'], {}, 'containers: [{name: envoy, imag: x}]');
    expect(linted).toMatchObject({ code: 1, stdout: expect.stringContaining('did you mean image?') });
  });

  test('every entry can be imported', async () => {
    const { exports: entries } = JSON.parse(await readFile(join(projectDirectory(), 'package.json'), 'utf8'));
    const imports = Object.keys(entries).map(
      (entry) => `import "${entry.replace('.', 'envoy-initializer')}";`,
    );
    expect(imports).toHaveLength(3);
    await run('bash', '-c', `cd '${project}' && '${node}' --input-type=module --eval '${imports.join('')}'`);
  });

  test('the example controller counts, counts again what changed or was tampered with, and ends when told to', async () => {
    await kubectl('create', 'configmap', 'before', '--from-literal=a=1');
    await kubectl('label', 'configmap', 'before', 'count-keys=');
    const running = start('key-counter');
    running.stdout?.resume();
    const ended = once(running, 'exit');
    await untilCounted('before', 1);
    await kubectl('patch', 'configmap', 'before', '--type=merge', '-p', '{"data":{"b":"2"}}');
    await untilCounted('before', 2);
    await kubectl('annotate', 'configmap', 'before', '--overwrite', 'example.com/keys=9');
    await untilCounted('before', 2);
    await controlPlane.restartApiServer();
    await kubectl('patch', 'configmap', 'before', '--type=merge', '-p', '{"data":{"c":"3"}}');
    await untilCounted('before', 3);
    running.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });
}
