import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ProgressStream } from '../control-plane/progress.ts';
import type { Supervisor } from '../control-plane/supervisor.ts';
import { ensureGoProgram } from '../go/go-program.ts';
import { moduleFiles } from '../go/locked-module.ts';
import { pinOf } from '../go/pins.ts';

/** The pinned one is the last release whose commands are packages of its module, and not modules that no proxy has. */
const MODULE = 'github.com/cert-manager/cert-manager';
const PIN = pinOf(MODULE);
const PROGRAMS = ['controller', 'cainjector'] as const;

/** Builds cert-manager into the cache where it is not there, which takes minutes. Resolves to the paths of its programs. */
export async function ensureCertManager(
  env: NodeJS.ProcessEnv,
  progress: ProgressStream,
): Promise<Record<(typeof PROGRAMS)[number], string>> {
  const ensure = (name: string) =>
    ensureGoProgram(
      { name: `cert-manager-${name}`, package: `${MODULE}/cmd/${name}`, pin: PIN },
      env,
      progress,
    );
  return { controller: await ensure('controller'), cainjector: await ensure('cainjector') };
}

/** The CRDs of cert-manager, without the labels that its chart fills in. */
export async function certManagerCrds(): Promise<string> {
  const crds = join(await moduleFiles(PIN, MODULE, process.env), 'deploy', 'crds');
  const files = (await readdir(crds)).filter((file) => file.endsWith('.yaml'));
  const texts = await Promise.all(files.map((file) => readFile(join(crds, file), 'utf8')));
  return texts.map((text) => text.replaceAll(/^.*\{\{.*\n/gm, '')).join('---\n');
}

/** Starts the controller and the cainjector outside of the cluster, as its administrator. They end with the supervisor. */
export async function startCertManager(
  supervisor: Supervisor,
  kubeconfig: string,
  onLine: (line: string) => void,
): Promise<void> {
  const programs = await ensureCertManager(process.env, process.stderr);
  for (const name of PROGRAMS) {
    await supervisor.start({
      name: `cert-manager-${name}`,
      command: programs[name],
      args: [
        `--kubeconfig=${kubeconfig}`,
        '--leader-elect=false',
        ...(name === 'controller' ? ['--metrics-listen-address=127.0.0.1:0'] : []),
      ],
      output: { onLine },
    });
  }
}
