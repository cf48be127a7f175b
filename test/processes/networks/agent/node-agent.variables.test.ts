import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { projectDirectory } from '../../../env/control-plane/project-directory.ts';
import { runCommand } from '../../../env/control-plane/run-command.ts';

test('the node agent warns of variables that are no flag of it, and names the likely one', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'envoy-initializer-node-agent-'));
  try {
    const kubeconfig = join(directory, 'config');
    const cluster = { name: 'c', cluster: { server: 'https://127.0.0.1:1' } };
    const context = { name: 'x', context: { cluster: 'c', user: 'u' } };
    const users = [{ name: 'u', user: { token: 't' } }];
    const config = { clusters: [cluster], contexts: [context], users, 'current-context': 'x' };
    await writeFile(kubeconfig, JSON.stringify(config));
    const { code, stdout } = await runCommand(
      process.execPath,
      [
        ...[join(projectDirectory(), 'build/src/main.js'), 'node-agent', '--node-name=a', '--metrics-port=0'],
        // It ends here: there are no plugins to install.
        ...[
          `--kubeconfig=${kubeconfig}`,
          `--host-root=${directory}`,
          `--cni-plugins=${join(directory, 'none')}`,
        ],
      ],
      { PATH: process.env.PATH ?? '', INITIALIZER_LOG_LEVL: 'debug', INITIALIZER_WORKERS: '3' },
      '',
    );
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.filter(({ level }) => level === 'warn')).toMatchObject([
      {
        msg: 'unknown environment variables have no effect',
        variables: ['INITIALIZER_LOG_LEVL: did you mean INITIALIZER_LOG_LEVEL?', 'INITIALIZER_WORKERS'],
      },
    ]);
    expect(code).toBe(2);
  } finally {
    await rm(directory, { recursive: true });
  }
});
