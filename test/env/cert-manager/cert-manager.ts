import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ensureGoProgram, goProgramPath } from '../cluster/go-program.ts';
import { readPinnedModule } from '../control-plane/pinned-module.ts';
import type { ProgressStream } from '../control-plane/progress.ts';
import { projectDirectory } from '../control-plane/project-directory.ts';
import type { Supervisor } from '../control-plane/supervisor.ts';

/** The last release whose commands are packages of its module, and not modules that no proxy has. */
const MODULE = 'github.com/cert-manager/cert-manager';
const DIRECTORY = join(projectDirectory(), 'test', 'env', 'cert-manager');
const SOURCES = ['go.mod', 'go.sum'].map((file) => join(DIRECTORY, file));
const PROGRAMS = ['controller', 'cainjector'] as const;

const cached = (name: string) => `cert-manager-${name}`;

/** Builds cert-manager into the cache where it is not there, which takes minutes. */
export async function ensureCertManager(env: NodeJS.ProcessEnv, progress: ProgressStream): Promise<void> {
  const { goVersion } = await readPinnedModule();
  for (const name of PROGRAMS)
    await ensureGoProgram(
      {
        name: cached(name),
        directory: DIRECTORY,
        package: `${MODULE}/cmd/${name}`,
        goVersion,
        sources: SOURCES,
      },
      env,
      progress,
    );
}

/** The CRDs of cert-manager, without the labels that its chart fills in. */
export async function certManagerCrds(): Promise<string> {
  const { stdout } = await promisify(execFile)('go', ['list', '-m', '-f', '{{.Dir}}', MODULE], {
    cwd: DIRECTORY,
    env: { ...process.env, GOWORK: 'off', GOFLAGS: '-mod=readonly' },
  });
  const crds = join(stdout.trim(), 'deploy', 'crds');
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
  for (const name of PROGRAMS) {
    await supervisor.start({
      name: cached(name),
      command: await goProgramPath({ name: cached(name), sources: SOURCES }, process.env),
      args: [
        `--kubeconfig=${kubeconfig}`,
        '--leader-elect=false',
        ...(name === 'controller' ? ['--metrics-listen-address=127.0.0.1:0'] : []),
      ],
      output: { onLine },
    });
  }
}
