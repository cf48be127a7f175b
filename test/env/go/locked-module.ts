import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cacheRoot } from '../control-plane/cache-directory.ts';
import { hasCode } from '../control-plane/has-code.ts';
import { runCommand } from '../control-plane/run-command.ts';
import { makeWhole } from '../whole-directory.ts';
import type { Pin } from './pins.ts';
import { textsInZip } from './zip.ts';

const NO_GO =
  'there is no `go` on the PATH: install Go 1.26 or newer (https://go.dev/dl) to build what tests need once, or, for the ' +
  'control plane, set KUBEBUILDER_ASSETS to a directory with etcd, kube-apiserver and kubectl (setup-envtest makes one)';

/** What `go mod download -json` says of a module. */
interface Download {
  readonly Path: string;
  readonly Version: string;
  readonly Sum: string;
  readonly GoModSum: string;
  /** Undefined where the module asks for a newer Go: only its archive is there. */
  readonly Dir?: string;
  readonly Zip?: string;
}

/**
 * Makes a directory in which Go builds the packages of a pinned module, with what that module's own go.mod and go.sum say
 * of its dependencies. All hashes in its go.sum are pinned by one: a build from other bytes fails. Resolves to its path.
 */
export async function lockedModule(pin: Pin, env: NodeJS.ProcessEnv): Promise<string> {
  const directory = join(cacheRoot(env), 'go-modules', pin.lock);
  if (existsSync(directory)) return directory;
  const own = await download([`${pin.module}@${pin.version}`], tmpdir(), env);
  const [{ Dir = '' } = {}] = own;
  const theirs = await Promise.all(['go.mod', 'go.sum'].map((file) => readFile(join(Dir, file), 'utf8')));
  const { goMod, others } = rewriteGoMod(theirs[0] ?? '', pin);
  const downloads = [...own, ...(others.length === 0 ? [] : await download(others, tmpdir(), env))];
  const lines = downloads.map(
    ({ Path, Version, Sum, GoModSum }) =>
      `${Path} ${Version} ${Sum}\n${Path} ${Version}/go.mod ${GoModSum}\n`,
  );
  const goSum = [theirs[1], ...lines].join('');
  const lock = createHash('sha256').update(goSum).digest('hex');
  if (lock !== pin.lock) {
    throw new Error(
      `${pin.module} ${pin.version}: expected ${pin.lock} as the hash of all its hashes, got ${lock}`,
    );
  }
  await makeWhole(directory, async (_, whole) => {
    await mkdir(whole);
    await writeFile(join(whole, 'go.mod'), goMod);
    await writeFile(join(whole, 'go.sum'), goSum);
  });
  return directory;
}

/** The directory of a module's files, of the version with which the pinned module is built. */
export async function moduleFiles(pin: Pin, module: string, env: NodeJS.ProcessEnv): Promise<string> {
  const [found] = await download([module], await lockedModule(pin, env), env);
  if (found?.Dir === undefined) throw new Error(`expected files of ${module}, got none`);
  return found.Dir;
}

/**
 * The texts of a module's files below a directory of it, by their path below that, whatever Go the module asks for. The hash
 * of the pin is that of go.sum, `h1:…`.
 */
export async function moduleTexts(
  { module, version, lock }: Pin,
  directory: string,
  env: NodeJS.ProcessEnv,
): Promise<ReadonlyMap<string, string>> {
  const name = `${module}@${version}`;
  const [found] = await download([name], tmpdir(), env, 'Zip');
  if (found?.Sum !== lock) throw new Error(`${name}: expected ${lock} as its hash, got ${found?.Sum}`);
  return textsInZip(await readFile(found.Zip ?? ''), `${name}/${directory}/`);
}

/**
 * The go.mod of a module that requires the pinned one and all that it does. Modules that it has beside it in its repository
 * are required as they are published: with its own version, or for Kubernetes with v0.36.3 for v1.36.3. Others in the place of what it
 * requires are those of the pin. `others` are both.
 */
function rewriteGoMod(
  goMod: string,
  { module, version, replace = [] }: Omit<Pin, 'lock'>,
): { readonly goMod: string; readonly others: readonly string[] } {
  const published = module === 'k8s.io/kubernetes' ? version.replace(/^v1/, 'v0') : version;
  const local = /^(?:replace|\t)\s*(\S+) => \.\S*\n/gm;
  const beside = new Set([...goMod.matchAll(local)].map(([, path]) => path));
  const others = [...replace];
  const requirements = goMod
    .replaceAll(local, '')
    .replaceAll(/^(require |\t)(\S+) v\S+/gm, (line, start, path) => {
      if (!beside.has(path)) return line;
      // Examples, which no program is made of, and which are not always published.
      if (path.startsWith('k8s.io/sample-')) return `${start}// without ${path}`;
      others.push(`${path}@${published}`);
      return `${start}${path} ${published}`;
    });
  const replaced = replace.map((other) => `replace ${other.split('@')[0]} => ${other.replace('@', ' ')}\n`);
  const own = `module envoy-initializer.test/pinned\n\nrequire ${module} ${version}\n${replaced.join('')}`;
  return { goMod: requirements.replace(/^module .*\n/m, own), others };
}

/** Hashes are not looked up in the checksum database: here they are compared with ours. */
async function download(
  modules: readonly string[],
  directory: string,
  env: NodeJS.ProcessEnv,
  wanted: 'Dir' | 'Zip' = 'Dir',
): Promise<readonly Download[]> {
  const args = ['-C', directory, 'mod', 'download', '-json', ...modules];
  const settings = { ...env, GOWORK: 'off', GOSUMDB: 'off' };
  const { code, stdout, stderr } = await runCommand('go', args, settings, '').catch((err: unknown) => {
    throw hasCode(err, 'ENOENT') ? new Error(NO_GO) : err;
  });
  const found = JSON.parse(`[${stdout.replaceAll(/^}\n(?=.)/gm, '},')}]`) as readonly Download[];
  if (code === 0 || (found.length > 0 && found.every((each) => each[wanted]))) return found;
  const errors = stdout.match(/(?<="Error": ").*(?=")/g) ?? [stderr.trim()];
  throw new Error(`go mod download: ${errors.join('; ')}`);
}
