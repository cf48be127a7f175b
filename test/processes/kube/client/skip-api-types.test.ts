import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from '@jest/globals';
import { projectDirectory } from '../../../env/control-plane/project-directory.ts';
import { runCommand } from '../../../env/control-plane/run-command.ts';

const built = (file: string) => JSON.stringify(pathToFileURL(join(projectDirectory(), 'build/src', file)));

/** Reads a kubeconfig in a process: the server in it, and how many of client-node's generated types were loaded. */
async function readKubeconfig(before: string): Promise<{ readonly server: string; readonly types: number }> {
  const script = `
    import { registerHooks } from 'node:module';
    let types = 0;
    registerHooks({
      load(url, context, next) {
        if (url.includes('/client-node/dist/gen/models/')) types += 1;
        return next(url, context);
      },
    });
    ${before}
    const { loadKubeConfig } = await import(${built('kube/client/kubeconfig/load-config.js')});
    const config = loadKubeConfig({ kubeconfig: '/dev/stdin', master: undefined });
    console.log(JSON.stringify({ server: config.getCurrentCluster().server, types }));
  `;
  const kubeconfig = JSON.stringify({
    clusters: [{ name: 'a', cluster: { server: 'https://a.example' } }],
    contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
    users: [{ name: 'a', user: { token: 'secret' } }],
    'current-context': 'a',
  });
  const { stdout, stderr } = await runCommand(
    'sh',
    ['-c', `cat | "$0" --input-type=module --eval "$1"`, process.execPath, script],
    { PATH: process.env.PATH ?? '' },
    kubeconfig,
  );
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout);
}

test('a kubeconfig is read without client-node’s generated types', async () => {
  const skip = `(await import(${built('kube/client/skip-api-types.js')})).skipApiTypes();`;
  expect(await readKubeconfig(skip)).toEqual({ server: 'https://a.example', types: 0 });
});

test('without skipApiTypes, all of them are loaded', async () => {
  const { server, types } = await readKubeconfig('');
  expect(server).toBe('https://a.example');
  expect(types).toBeGreaterThan(500);
});
