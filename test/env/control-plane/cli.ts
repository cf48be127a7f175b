import { once } from 'node:events';
import { dirname } from 'node:path';
import { runCli } from '../run-cli.ts';
import { ensureBinaries, findBinaries } from './build.ts';
import { shellExports } from './shell-exports.ts';
import { startControlPlane } from './start.ts';

const USAGE = `usage: node test/env/control-plane/cli.ts build|up|path

  build  build etcd, kube-apiserver, kube-controller-manager and kubectl into the cache
  up     start a control plane, print how to reach it, and keep it until Ctrl-C
  path   print the directory of the binaries
`;

function say(message: string): void {
  process.stderr.write(`${message}\n`);
}

async function build(): Promise<void> {
  await ensureBinaries(process.env, process.stderr);
}

async function path(): Promise<void> {
  const { etcd } = await findBinaries(process.env);
  process.stdout.write(`${dirname(etcd)}\n`);
}

/** Until it is up, a signal simply ends this program: the supervisor tidies up after it. */
async function up(): Promise<void> {
  const binaries = await ensureBinaries(process.env, process.stderr);
  const controlPlane = await startControlPlane({ binaries, log: say });
  const ended = Promise.race([
    controlPlane.failure,
    ...['SIGINT', 'SIGTERM', 'SIGHUP'].map((signal) => once(process, signal).then(() => undefined)),
  ]);
  say(`${controlPlane.server}, logs in ${controlPlane.directory}/logs; Ctrl-C ends it and removes all of it`);
  process.stdout.write(`${(await shellExports(controlPlane.kubeconfigPath)).join('\n')}\n`);
  const failure = await ended;
  await controlPlane.stop();
  if (failure !== undefined) throw failure;
}

await runCli({ build, up, path }, USAGE);
