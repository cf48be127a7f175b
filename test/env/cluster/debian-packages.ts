import { hasCode } from '../control-plane/has-code.ts';
import { type ProgressStream, withProgress } from '../control-plane/progress.ts';
import { type CommandResult, runCommand } from '../control-plane/run-command.ts';
import type { Requirement } from './requirements.ts';
import { searchPath } from './search-path.ts';

/** A machine that has just booted may be updating itself, and a mirror may be slow to answer. */
const PATIENCE = ['--option=DPkg::Lock::Timeout=120', '--option=Acquire::Retries=3'];
/** Lines of apt-get's output that an error quotes. */
const QUOTED_LINES = 10;

/**
 * Sees to it that these programs are there, in a version that works: installs the Debian packages of those that are
 * not. Rejects with the command to run by hand where it cannot.
 */
export async function ensureRequirements(
  requirements: readonly Requirement[],
  progress: ProgressStream,
): Promise<void> {
  const faults = await faultsOf(requirements);
  if (faults.length === 0) return;
  const packages = faults.map(({ debianPackage }) => debianPackage).join(' ');
  const complaint = faults.map(({ fault }) => fault).join(', ');
  // No package of the machine's is removed for one of ours, as Docker's containerd would be.
  const install = `apt-get install --yes --no-install-recommends --no-remove ${packages}`;
  const byHand = `run \`apt-get update && ${install}\` as root on Debian or Ubuntu, or install them your way`;
  if (process.getuid?.() !== 0 || !(await canRun('apt-get'))) {
    throw new Error(`a node of Kubernetes needs more programs (${complaint}): ${byHand}`);
  }
  await withProgress(progress, `installing ${packages} (${complaint})`, async (detail) => {
    detail('apt-get update');
    await aptGet('apt-get update', byHand);
    detail('apt-get install');
    await aptGet(install, byHand);
  });
  const left = await faultsOf(requirements);
  if (left.length === 0) return;
  throw new Error(
    `apt-get has installed ${packages}, and still: ${left.map(({ fault }) => fault).join(', ')}`,
  );
}

/** What is wrong with a requirement on this machine. */
interface Fault {
  readonly debianPackage: string;
  readonly fault: string;
}

/** Which of them are missing here, or too old. */
async function faultsOf(requirements: readonly Requirement[]): Promise<Fault[]> {
  const faults = await Promise.all(
    requirements.map(async (requirement) => {
      const fault = await faultOf(requirement);
      return fault === undefined ? [] : [{ debianPackage: requirement.debianPackage, fault }];
    }),
  );
  return faults.flat();
}

async function faultOf({ name, probe, atLeast }: Requirement): Promise<string | undefined> {
  const [command, ...args] = probe;
  const result = await run(command, args);
  if (result === undefined || result.code !== 0) return `no ${name}`;
  if (atLeast === undefined) return undefined;
  const version = /\d+(?:\.\d+)+/.exec(`${result.stdout}${result.stderr}`)?.[0];
  if (version === undefined) return `${name} of an unknown version, expected ${atLeast} or newer`;
  if (isOlder(version, atLeast)) return `${name} ${version}, expected ${atLeast} or newer`;
  return undefined;
}

function isOlder(version: string, than: string): boolean {
  const [a = [], b = []] = [version, than].map((text) => text.split('.').map(Number));
  const difference = b.map((part, index) => (a[index] ?? 0) - part).find((part) => part !== 0);
  return difference !== undefined && difference < 0;
}

async function aptGet(commandLine: string, byHand: string): Promise<void> {
  const [command = '', ...args] = commandLine.split(' ');
  const result = await run(command, [...PATIENCE, ...args], { DEBIAN_FRONTEND: 'noninteractive' });
  if (result?.code === 0) return;
  const output = `${result?.stdout}${result?.stderr}`.trimEnd().split('\n').slice(-QUOTED_LINES).join('\n');
  throw new Error(`\`${commandLine}\` failed: ${byHand}. It said:\n${output}`);
}

async function canRun(command: string): Promise<boolean> {
  return (await run(command, ['--version'])) !== undefined;
}

/** Undefined where there is no such program. */
async function run(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<CommandResult | undefined> {
  // apt-get reads proxies and certificates from the environment.
  const all = { HOME: '/', ...process.env, PATH: searchPath(), ...env };
  return runCommand(command, args, all, '').catch((err: unknown) => {
    if (hasCode(err, 'ENOENT')) return undefined;
    throw err;
  });
}
