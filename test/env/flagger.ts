import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ProgressStream } from './control-plane/progress.ts';
import type { Supervisor } from './control-plane/supervisor.ts';
import { ensureGoProgram } from './go/go-program.ts';
import { moduleFiles } from './go/locked-module.ts';
import { pinOf } from './go/pins.ts';

const MODULE = 'github.com/fluxcd/flagger';
const PIN = pinOf(MODULE);
const PROGRAM = { name: 'flagger', package: `${MODULE}/cmd/flagger`, pin: PIN };

/** Builds Flagger into the cache where it is not there, which takes minutes. Resolves to its path. */
export function ensureFlagger(env: NodeJS.ProcessEnv, progress: ProgressStream): Promise<string> {
  return ensureGoProgram(PROGRAM, env, progress);
}

/** The CRDs of Flagger: Canary, MetricTemplate and AlertProvider. */
export async function flaggerCrds(): Promise<string> {
  return readFile(
    join(await moduleFiles(PIN, MODULE, process.env), 'artifacts', 'flagger', 'crd.yaml'),
    'utf8',
  );
}

/** Starts Flagger for HTTPRoutes outside of the cluster, as its administrator. It ends with the supervisor. */
export async function startFlagger(
  supervisor: Supervisor,
  options: { readonly kubeconfig: string; readonly prometheus: string; readonly port: number },
  onLine: (line: string) => void,
): Promise<void> {
  await supervisor.start({
    name: 'flagger',
    command: await ensureFlagger(process.env, process.stderr),
    args: [
      `-kubeconfig=${options.kubeconfig}`,
      `-metrics-server=${options.prometheus}`,
      `-port=${options.port}`,
      '-mesh-provider=gatewayapi:v1',
      '-control-loop-interval=2s',
    ],
    output: { onLine },
  });
}
