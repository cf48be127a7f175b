import { mkdtemp, readdir, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { VERSION } from '../../../src/kube/util/version.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { runCommand } from '../../env/control-plane/run-command.ts';
import { describeUnless } from '../../support/jest/describe-unless.ts';
import { installNode, OLDEST, TOO_OLD } from '../../support/kube/other-node.ts';

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
describeUnless('obstacle' in node20 ? node20.obstacle : undefined, 'the command on Node 20', () => {
  test('says in one line that Node.js is too old', async () => {
    const command = join(prefix, 'bin/envoy-initializer');
    const typed = await runCommand('path' in node20 ? node20.path : '', [command, '--version'], {}, '');
    expect(typed).toMatchObject({ code: 2, stdout: '' });
    expect(typed.stderr).toMatch(/^error: expected Node\.js 22\.19 or newer, got v20\.20\.2: .*\n$/);
  });
});

function runsOn(node: string): void {
  const PATH = () => [join(prefix, 'bin'), dirname(node), '/usr/bin', '/bin'].join(':');
  const type = (line: string, input = '') => runCommand('sh', ['-c', line], { PATH: PATH() }, input);

  test('has the command and the plugin of kubectl', async () => {
    const version = { code: 0, stdout: `${VERSION}\n`, stderr: '' };
    expect(await type('envoy-initializer --version')).toEqual(version);
    expect((await type('kubectl-envoy drift --help')).stdout).toMatch(/^Usage: kubectl envoy drift /);
    const linted = await type('envoy-initializer lint -', 'containers: [{name: envoy, imag: x}]');
    expect(linted).toMatchObject({ code: 1, stdout: expect.stringContaining('did you mean image?') });
  });
}
