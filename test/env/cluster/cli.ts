import { runCli } from '../run-cli.ts';
import { proveCluster } from './prove.ts';

const USAGE = `usage: node test/env/cluster/cli.ts prove

  prove  make all that a cluster is made of, and run a pod on one; print what stands in the way, if anything does
`;

function say(message: string): void {
  process.stderr.write(`${message}\n`);
}

/** Obstacles are the answer, not a failure of this program, unless E2E_REQUIRED says so. */
async function prove(): Promise<void> {
  if (process.env.E2E_KUBECONFIG)
    return say(`no node of our own: tests run on E2E_KUBECONFIG=${process.env.E2E_KUBECONFIG}`);
  const obstacle = await proveCluster(process.stderr);
  if (obstacle === undefined) return;
  const frame = '!'.repeat(79);
  say(`${frame}\nNO TESTS ON A REAL NODE, since there can be none here:\n${obstacle}\n${frame}`);
  if (process.env.E2E_REQUIRED) process.exitCode = 1;
  process.stdout.write(`${obstacle.split('\n')[0]}\n`);
}

await runCli({ prove }, USAGE);
