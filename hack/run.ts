import { join } from 'node:path';
import { parseArgs, styleText } from 'node:util';
import type { ControlPlane } from '../test/env/control-plane/control-plane.ts';
import { projectDirectory } from '../test/env/control-plane/project-directory.ts';
import { quickBinaries } from '../test/env/control-plane/published.ts';
import { shellExports } from '../test/env/control-plane/shell-exports.ts';
import { startControlPlane } from '../test/env/control-plane/start.ts';
import { must, OPERATOR_NAMESPACE, startOperator } from '../test/env/operator.ts';
import { playInjection, storedPod } from './demo/injection.ts';
import { Narrator } from './demo/narrator.ts';
import { playNetwork } from './demo/network.ts';
import { needsGo, playOnKind } from './demo/on-kind.ts';
import { quietly, type Stage } from './demo/stage.ts';

// Starts a control plane and the operator, and plays the demo with kubectl.
// `--once` ends after the demo: with 0 if all claims hold, with 1 otherwise.
// `--api-server-arg=--v=4` passes an argument to kube-apiserver.

const { values } = parseArgs({
  options: {
    once: { type: 'boolean', default: false },
    'api-server-arg': { type: 'string', multiple: true, default: [] },
  },
});
const stop = stopOnSignals();
// Node decides by terminal, NO_COLOR and FORCE_COLOR.
const color = styleText('bold', ' ', { stream: process.stdout }) !== ' ';
const narrator = new Narrator((text) => process.stdout.write(text), color);

narrator.heading('Setting up');
if (needsGo(process.env)) {
  try {
    await playOnKind(process.env, narrator, values.once ? Promise.resolve() : stop);
  } catch (err) {
    narrator.say(err instanceof Error ? err.message : String(err));
    process.exitCode = 1;
  }
  process.exit();
}
const controlPlane = await startControlPlane({
  binaries: await quickBinaries(process.env, process.stderr),
  log: (message) => narrator.say(message),
  extraApiServerArgs: values['api-server-arg'],
});
try {
  const finished = play(controlPlane);
  // Ctrl-C ends the demo at any point: its current step fails together with the control plane.
  await Promise.race([finished, stop, controlPlane.failure.then((error) => Promise.reject(error))]);
} finally {
  await controlPlane.stop();
}
process.exit(narrator.broken.length > 0 ? 1 : 0);

async function play(controlPlane: ControlPlane): Promise<void> {
  const baseline = { narrator, controlPlane, webhookUrl: '', metricsUrl: '', caPem: '' };
  await must(controlPlane, [
    'apply',
    '-f',
    join(projectDirectory(), 'test/env/control-plane/network-attachment-definition-crd.yaml'),
  ]);
  await quietly(baseline, ['apply', '-f', 'deploy/examples/myapp-pod-plain.yaml']);
  const plainWithoutUs = await storedPod(baseline, 'myapp-pod-plain');
  await quietly(baseline, ['delete', 'pod', 'myapp-pod-plain', '--now']);

  await quietly(baseline, ['create', 'namespace', OPERATOR_NAMESPACE]);
  await quietly(baseline, ['apply', '-f', 'deploy/examples/template.yaml']);
  await quietly(baseline, [
    ...['create', 'configmap', 'envoy', `--namespace=${OPERATOR_NAMESPACE}`, '--from-file'],
    'deploy/envoy/envoy.json',
  ]);
  const log = join(controlPlane.directory, 'operator.log');
  const operator = await startOperator(controlPlane, { log });
  narrator.say(`envoy-initializer is ready (pid ${operator.process.pid}, log ${log})`);

  const stage: Stage = { ...baseline, ...operator };
  await playInjection(stage, plainWithoutUs);
  await playNetwork(stage);
  sumUp();
  if (values.once) return;
  narrator.toTry(await shellExports(controlPlane.kubeconfigPath));
  await stop;
}

function sumUp(): void {
  narrator.heading('Summary');
  narrator.say(`${narrator.claims - narrator.broken.length} of ${narrator.claims} claims hold.`);
  for (const sentence of narrator.broken) narrator.say(`✗ ${sentence}`);
}

/** Resolves at the first Ctrl-C, SIGTERM or hang-up. */
function stopOnSignals(): Promise<void> {
  return new Promise((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => resolve());
  });
}
