import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { promisify } from 'node:util';
import { hasCode } from './has-code.ts';

/** Where Go keeps what it compiled and what it downloaded. */
export interface GoToolchain {
  readonly buildCache: string;
  readonly moduleCache: string;
}

const ASSETS =
  'or set KUBEBUILDER_ASSETS to a directory with etcd, kube-apiserver and kubectl (setup-envtest makes one)';

/** Asks the `go` on the PATH of `env` about itself. Rejects, saying what to do, where it cannot build a module that requires Go `required`. */
export async function findGo(env: NodeJS.ProcessEnv, required: string): Promise<GoToolchain> {
  const { GOVERSION = '', GOTOOLCHAIN = '', GOCACHE = '', GOMODCACHE = '' } = await goEnv(env, required);
  const version = GOVERSION.replace(/^go/, '');
  if (isOlder(version, required)) {
    const upgrade = `install Go ${required} or newer, ${ASSETS}`;
    if (isOlder(version, '1.21')) {
      throw new Error(`building the control plane needs Go ${required}, and this is ${version}: ${upgrade}`);
    }
    // Go 1.21 and newer download the toolchain that go.mod asks for, unless they are told not to.
    if (GOTOOLCHAIN === 'local' || /^go[\d.]+$/.test(GOTOOLCHAIN)) {
      throw new Error(
        `building the control plane needs Go ${required}, this is ${version}, and GOTOOLCHAIN=${GOTOOLCHAIN} ` +
          `forbids it to download another: set GOTOOLCHAIN=auto, ${upgrade}`,
      );
    }
  }
  return { buildCache: GOCACHE, moduleCache: GOMODCACHE };
}

async function goEnv(env: NodeJS.ProcessEnv, required: string): Promise<Partial<Record<string, string>>> {
  const variables = ['GOVERSION', 'GOTOOLCHAIN', 'GOCACHE', 'GOMODCACHE'];
  try {
    // Outside of any module, so that Go answers for itself and not for the toolchain a go.mod asks for.
    const { stdout } = await promisify(execFile)('go', ['env', '-json', ...variables], {
      cwd: tmpdir(),
      env: { ...env, GOWORK: 'off' },
    });
    return JSON.parse(stdout) as Partial<Record<string, string>>;
  } catch (cause) {
    if (!hasCode(cause, 'ENOENT')) throw new Error('`go env` failed', { cause });
    throw new Error(
      `the control plane is not built yet and there is no \`go\` on the PATH: install Go ${required} or newer ` +
        `(https://go.dev/dl) to build it once, ${ASSETS}`,
    );
  }
}

/** Compares release numbers; a part that is missing or no number (`1.27rc1`) counts as far as it can be read. */
function isOlder(version: string, than: string): boolean {
  const [a, b] = [version, than].map((text) => text.split('.').map((part) => Number.parseInt(part, 10) || 0));
  for (const index of [0, 1, 2]) {
    const difference = (a?.[index] ?? 0) - (b?.[index] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}
