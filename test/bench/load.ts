import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { projectDirectory } from '../env/control-plane/project-directory.ts';
import { LOAD_CORE, pinned } from './pinned.ts';

export interface LoadOptions {
  readonly url: string;
  readonly bodyFile: string;
  readonly seconds: number;
  /** A new connection, and a new TLS handshake, for each request. */
  readonly fresh?: boolean;
}

/** Connections at once: the API server keeps about as many to a webhook under load. */
const CONNECTIONS = 16;
/** Handshakes one after the other on a few: what is measured is their cost, not a full backlog. */
const FRESH_CONNECTIONS = 4;
const AUTOCANNON = join(projectDirectory(), 'node_modules/autocannon/autocannon.js');
const WRK_SCRIPT = join(projectDirectory(), 'test/bench/post.lua');

export const loadTool = spawnSync('wrk', ['--version']).error ? 'autocannon' : 'wrk';

/** Posts the body as fast as it is answered, from a core of its own. Resolves with the requests per second. */
export async function requestsPerSecond(options: LoadOptions): Promise<number> {
  const { requests, seconds, failed } = await (loadTool === 'wrk' ? byWrk(options) : byAutocannon(options));
  if (failed > 0 || requests === 0)
    throw new Error(`${failed} of ${requests} requests to ${options.url} failed`);
  return requests / seconds;
}

interface Load {
  readonly requests: number;
  readonly seconds: number;
  readonly failed: number;
}

async function byWrk({ url, bodyFile, seconds, fresh }: LoadOptions): Promise<Load> {
  const connections = `${fresh ? FRESH_CONNECTIONS : CONNECTIONS}`;
  const args = ['--threads', '1', '--connections', connections, '--duration', `${seconds}s`];
  const script = ['--script', WRK_SCRIPT, url, '--', bodyFile, fresh ? 'close' : 'keep-alive'];
  const printed = await run(['wrk', ...args, ...script]);
  // The last line is the script's.
  return JSON.parse(printed.trimEnd().split('\n').at(-1) ?? '');
}

async function byAutocannon({ url, bodyFile, seconds, fresh }: LoadOptions): Promise<Load> {
  const connections = fresh ? FRESH_CONNECTIONS : CONNECTIONS;
  const args = [
    '--json',
    '--no-progress',
    '--method',
    'POST',
    '--input',
    bodyFile,
    '--duration',
    `${seconds}`,
  ];
  const headers = ['content-type=application/json', ...(fresh ? ['connection=close'] : [])];
  const how = [...headers.flatMap((header) => ['--headers', header]), '--connections', `${connections}`];
  const printed = await run([process.execPath, AUTOCANNON, ...args, ...how, url]);
  const { requests, duration, non2xx, errors, timeouts } = JSON.parse(printed);
  return { requests: requests.total, seconds: duration, failed: non2xx + errors + timeouts };
}

function run(command: readonly string[]): Promise<string> {
  const [file = '', ...args] = pinned(LOAD_CORE, command);
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let [out, err] = ['', ''];
    child.stdout.on('data', (chunk) => (out += chunk));
    child.stderr.on('data', (chunk) => (err += chunk));
    child.on('error', reject);
    child.on('close', (code) =>
      code === 0 ? resolve(out) : reject(new Error(`${command[0]} ended with ${code}: ${err}`)),
    );
  });
}
