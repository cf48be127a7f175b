import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { ADD_ONS } from '../../../src/addons/index.ts';
import { commandsWith } from '../../../src/cli/program.ts';
import { runCli } from '../../../src/program.ts';
import { optionsOf } from '../../support/cli/command-options.ts';
import { MemoryTerminal } from '../../support/cli/memory-terminal.ts';
import { documents } from '../../support/jest/markdown.ts';

const COMMANDS = commandsWith(ADD_ONS);

async function helpOf(name: string, program = 'envoy-initializer'): Promise<string> {
  const terminal = new MemoryTerminal();
  expect(await runCli(['node', `/usr/bin/${program}`, name, '--help'], terminal)).toBe(0);
  return terminal.stdout;
}

const page = documents().find(({ path }) => path === 'docs/cli.md')?.text ?? '';

test.each(COMMANDS)('$name --help ends with examples and its section of docs/cli.md', async (entry) => {
  const help = await helpOf(entry.name);
  expect(entry.examples.length).toBeGreaterThan(0);
  for (const example of entry.examples) expect(help).toContain(`\n  envoy-initializer ${example}\n`);
  expect(help.trimEnd()).toMatch(new RegExp(`docs/cli\\.md#${entry.name}$`));
  expect(page).toMatch(new RegExp(`^## ${entry.name}$`, 'm'));
});

test.each(COMMANDS)('the examples of $name have flags that it has', ({ name, examples }) => {
  const flags = examples.flatMap((example) => {
    const [own = ''] = example.split(' | ');
    expect(own.split(' ')[0]).toBe(name);
    return own.split(' ').filter((word) => /^--?[a-zA-Z]/.test(word));
  });
  expect(flags.filter((flag) => !optionsOf(name)?.includes(flag))).toEqual([]);
});

test('kubectl-envoy calls itself kubectl envoy', async () => {
  const help = await helpOf('drift', 'kubectl-envoy');
  expect(help).toMatch(/^Usage: kubectl envoy drift /);
  expect(help).toContain('\n  kubectl envoy drift -A\n');
  expect(await helpOf('uninject', 'kubectl-envoy')).not.toContain('envoy-initializer inject');
});

/** Runs the command line. Returns its exit code and its standard error. */
async function run(...args: readonly string[]) {
  let stderr = '';
  const terminal = {
    read: () => Promise.reject(new Error('this test reads no file')),
    list: () => Promise.reject(new Error('this test reads no file')),
    write: () => Promise.reject(new Error('this test writes no file')),
    out: () => {},
    err: (text: string) => {
      stderr += text;
    },
  };
  return { code: await runCli(['node', 'envoy-initializer', ...args], terminal), stderr };
}

// biome-ignore format: a line for each case
test.each([
  [['serve', '--port=x'], /'--port <port>' argument 'x' is invalid\. Use a port/],
  [['serve', '--prot=1'], /unknown option '--prot=1' .Did you mean --port..$/m],
  [['serve', '-n', 'x'], /^error: unknown option '-n': see envoy-initializer serve --help$/m],
  [['bogus'], /^error: unknown command 'bogus': see envoy-initializer --help$/m],
  [['check', 'deploy/a', 'deploy/b'], /^error: expected one target, got deploy\/a and deploy\/b: check one after the other, or use --all$/m],
  [['serve', 'more'], /^error: unexpected argument 'more': see envoy-initializer serve --help/],
  [['policy', 't.yaml'], /^error: unexpected argument 't.yaml': use envoy-initializer policy -f t.yaml/],
  [['inject', 'web.yaml'], /use envoy-initializer inject -f web.yaml/],
  [['check', 'web.yaml'], /^error: "web.yaml" is not a target: use inject -f web.yaml/],
  [['help', 'chek'], /^error: unknown command 'chek' \(Did you mean check\?\)/],
  [['serve', '--tls-cert-file=a'], /--tls-cert-file and --tls-key-file go together/],
  [['serve', '--tls-ca-file=a'], /--tls-ca-file needs --tls-cert-file and --tls-key-file/],
  [['serve', '--kubeconfig=/nowhere/config'], /no usable kubeconfig: cannot read \/nowhere\/config: the file does not exist/],
  [['serve', '--cluster-cidrs=10.0.0.1/8'], /has host bits set or is not in canonical form: use 10\.0\.0\.0\/8/],
  [['serve', '--webhook-url=x'], /Use a URL such as https:\/\/webhook\.example\.com:8443/],
  [['inject'], /option '-f, --filename <file>' is missing/],
  [['lint', '--envoy'], /^error: missing required argument 'file': see envoy-initializer lint --help/],
  [['check'], /^error: nothing to check: use a target/],
  [['check', 'web', '--kubeconfig=/nowhere/config'], /^error: "web" is not a target: use a kind and a name/],
  [['check', 'pod/..'], /^error: "pod\/\.\." is not a target/],
  [['check', 'deploymnet/web'], /^error: unknown kind "deploymnet": did you mean deployment\/web\?/],
  [['check', 'foo/web', '--kubeconfig=/nowhere/config'], /^error: unknown kind "foo": use one of deployment, .*, pod, httproute, grpcroute, network$/m],
  [['drift', '-A', '-n', 'x'], /^error: option '-n, --namespace <name>' cannot be used with option '-A/],
  [['drift', '--request-timeout=x'], /argument 'x' is invalid\. Use a duration/],
  [['drift', '-o', 'text'], /Use table, json or yaml\./],
  [['check', 'deploy/web', '--to=http://web'], /^error: --to works with a pod only: use a target such as pod\/web-0/],
  [['check', '/web'], /^error: "\/web" is not a target/],
  [['check', 'deploy.batch/web'], /^error: unknown kind "deploy\.batch": use one of/],
  [['check', 'deployment.apps/web', '--kubeconfig=/nowhere/config'], /cannot read \/nowhere\/config/],
  [['check', 'pod/web', '-X', 'GET'], /^error: --method and --header work with --to only: add --to URL/],
  [['check', 'pod/web', '--to=http://a', '-H', 'version'], /argument 'version' is invalid\. Use a name and a value/],
  [['policy', '-f', 'a', '-f', 'b'], /argument 'b' is invalid\. This command reads one file: use -f once\.$/m],
  [['inject', '-f', 'a,,b'], /argument 'a,,b' is invalid\. The value must not be empty/],
  [['status', '-o', 'jsno'], /Use table, json or yaml\. Did you mean json\?$/m],
])('the command %j returns 2 and prints one line that says what to write', async (args, message) => {
  const { code, stderr } = await run(...args);
  expect(code).toBe(2);
  expect(stderr).toMatch(message);
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);
});

test.each([
  [
    ['serve'],
    { server: 'http://10.0.0.1' },
    'expected an https URL for the API server, got "http://10.0.0.1"',
  ],
  [['serve'], { server: 'https://10.0.0.1', 'proxy-url': 'socks5://10.0.0.2' }, 'got socks5://'],
  [['node-agent'], { server: 'http://10.0.0.1' }, 'expected an https URL for the API server'],
  [['check', 'deploy/web'], { server: 'http://10.0.0.1' }, 'expected an https URL for the API server'],
])('the command %j with the cluster %j ends before it starts anything', async (args, cluster, message) => {
  const folder = await mkdtemp(join(tmpdir(), 'usage-'));
  const kubeconfig = join(folder, 'config');
  const config = {
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user: {} }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
  await writeFile(kubeconfig, JSON.stringify(config));
  const { code, stderr } = await run(...args, `--kubeconfig=${kubeconfig}`);
  await rm(folder, { recursive: true });
  expect(code).toBe(2);
  expect(stderr).toContain(message);
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);
});

test('--version and --help return 0', async () => {
  expect(await run('--version')).toEqual({ code: 0, stderr: '' });
  expect(await run('serve', '--help')).toEqual({ code: 0, stderr: '' });
});
