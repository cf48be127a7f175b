import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheRoot } from '../control-plane/cache-directory.ts';
import { type ProgressStream, withProgress } from '../control-plane/progress.ts';
import { projectDirectory } from '../control-plane/project-directory.ts';
import { makeWhole } from '../whole-directory.ts';
import { writeKeystoneKeys } from './keystone-keys.ts';
import { keystoneConfig } from './settings.ts';

/** What was installed once and is only read from then on. */
export interface PythonEnvironment {
  readonly python: string;
  /** Neutron's own, as it comes with it. */
  readonly apiPaste: string;
  /** With empty tables, to be copied. */
  readonly neutronDatabase: string;
  /** With Keystone's administrator and the roles, to be copied. */
  readonly keystoneDatabase: string;
}

/** openstack/neutron 29 `python_requires`. */
const LEAST_PYTHON = [3, 11] as const;
const SOURCES = ['requirements.txt', 'make_neutron_tables.py', 'settings.ts'];
export const ADMIN_PASSWORD = 'admin';

/** The directory of our Python programs. */
export function neutronDirectory(): string {
  return join(projectDirectory(), 'test', 'env', 'neutron');
}

/** Where Neutron is in the cache. Rejects where this machine's Python cannot run it. */
async function environmentDirectory(env: NodeJS.ProcessEnv): Promise<string> {
  const version = await pythonVersion(env);
  const hash = createHash('sha256').update(`${version} ${process.platform} ${process.arch}`);
  for (const file of SOURCES) hash.update(await readFile(join(neutronDirectory(), file)));
  return join(cacheRoot(env), 'neutron', hash.digest('hex').slice(0, 12));
}

/** The installed Neutron; undefined where it has to be installed first. */
export async function findEnvironment(env: NodeJS.ProcessEnv): Promise<PythonEnvironment | undefined> {
  const directory = await environmentDirectory(env);
  return existsSync(directory) ? environmentIn(directory) : undefined;
}

/** Installs Neutron and Keystone from PyPI where they are not in the cache: half a minute, 400 MB. */
export async function ensureEnvironment(
  env: NodeJS.ProcessEnv,
  progress: ProgressStream,
): Promise<PythonEnvironment> {
  const directory = await environmentDirectory(env);
  if (!existsSync(directory)) await install(env, directory, progress);
  return environmentIn(directory);
}

async function install(env: NodeJS.ProcessEnv, directory: string, progress: ProgressStream): Promise<void> {
  await withProgress(progress, 'installing Neutron and Keystone from PyPI', (detail) =>
    makeWhole(directory, async (temporary, made) => {
      const run: Run = async (name, command, args) => {
        detail(name);
        await promisify(execFile)(command, args, { env, cwd: temporary });
      };
      await mkdir(made);
      const { python } = environmentIn(made);
      await run('python3 -m venv', 'python3', ['-m', 'venv', join(made, 'venv')]);
      const requirements = join(neutronDirectory(), 'requirements.txt');
      const options = ['--no-deps', '--disable-pip-version-check', '--progress-bar=off'];
      await run('pip install', python, ['-m', 'pip', 'install', ...options, '--requirement', requirements]);
      await makeDatabases(made, run);
    }),
  );
}

type Run = (name: string, command: string, args: readonly string[]) => Promise<void>;

async function makeDatabases(made: string, run: Run): Promise<void> {
  const { python, neutronDatabase, keystoneDatabase } = environmentIn(made);
  const program = (file: string) => join(neutronDirectory(), file);
  await run('making the tables of Neutron', python, [program('make_neutron_tables.py'), neutronDatabase]);
  await writeKeystoneKeys(made);
  const config = join(made, 'keystone.conf');
  await writeFile(config, keystoneConfig({ database: keystoneDatabase, keys: made, tokenLifetimeS: 60 }));
  const manage = [program('keystone_manage.py'), '--config-file', config];
  await run('making the tables of Keystone', python, [...manage, 'db_sync']);
  const bootstrap = ['bootstrap', '--bootstrap-password', ADMIN_PASSWORD];
  await run('making users of Keystone', python, [...manage, ...bootstrap]);
}

function environmentIn(directory: string): PythonEnvironment {
  return {
    python: join(directory, 'venv', 'bin', 'python'),
    apiPaste: join(directory, 'venv', 'etc', 'neutron', 'api-paste.ini'),
    neutronDatabase: join(directory, 'neutron.sqlite'),
    keystoneDatabase: join(directory, 'keystone.sqlite'),
  };
}

/** `3.11.7`. Rejects, saying what to do, where there is none, or too old a one. */
async function pythonVersion(env: NodeJS.ProcessEnv): Promise<string> {
  const least = LEAST_PYTHON.join('.');
  const advice = `install Python ${least} or newer with its venv module (Debian: apt-get install python3-venv)`;
  let version: string;
  try {
    const program = 'import platform, ensurepip; print(platform.python_version())';
    const { stdout } = await promisify(execFile)('python3', ['-c', program], { env });
    version = stdout.trim();
  } catch (cause) {
    throw new Error(`Neutron is a Python program, and there is no usable python3: ${advice}`, { cause });
  }
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < LEAST_PYTHON[0] || (major === LEAST_PYTHON[0] && minor < LEAST_PYTHON[1])) {
    throw new Error(`Neutron needs Python ${least}, and python3 is ${version}: ${advice}`);
  }
  return version;
}
