import { join } from 'node:path';
import { projectDirectory } from '../test/env/control-plane/project-directory.ts';
import { shellExports } from '../test/env/control-plane/shell-exports.ts';
import { startControlPlane } from '../test/env/control-plane/start.ts';
import { must, startOperator } from '../test/env/operator.ts';

// Starts a control plane and the operator from source. Each change of src/ restarts the operator. A debugger can
// attach.

const say = (line: string) => process.stdout.write(`${line}\n`);
const stop = new Promise<void>((resolve) => {
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => resolve());
});

const controlPlane = await startControlPlane({ log: say });
try {
  const crd = 'test/env/control-plane/network-attachment-definition-crd.yaml';
  await must(controlPlane, ['apply', '-f', join(projectDirectory(), crd)]);
  const log = join(controlPlane.directory, 'operator.log');
  const { metricsUrl } = await startOperator(controlPlane, {
    log,
    program: 'src/main.ts',
    nodeFlags: ['--watch', `--watch-path=${join(projectDirectory(), 'src')}`, '--inspect=127.0.0.1:0'],
    args: ['--log-level=debug'],
  });
  say('\nThe operator runs from src/ and restarts when a file changes. In another terminal:\n');
  for (const line of await shellExports(controlPlane.kubeconfigPath)) say(`  ${line}`);
  say(`  curl ${metricsUrl}/readyz?verbose`);
  say('\nThe line "Debugger listening on …" below has the address for a debugger. Ctrl-C ends all.\n');
  const output = { onLine: say };
  await controlPlane.supervisor.start({
    name: 'log',
    command: 'tail',
    args: ['-n', '+1', '-F', log],
    output,
  });
  await Promise.race([stop, controlPlane.failure.then((error) => Promise.reject(error))]);
} finally {
  await controlPlane.stop();
}
process.exit(0);
