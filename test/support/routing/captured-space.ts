import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { ENVOY_FILES } from '../../../src/injection/envoy/configurations.ts';
import { searchPath } from '../../env/cluster/search-path.ts';

/** The user that sends requests. Envoy and servers are root, whom the rules let pass here. */
const CLIENT = '65534';
const SERVER = `require('node:http').createServer((request, response) => {
  response.end(JSON.stringify({ at: request.socket.localAddress, headers: request.headers }));
}).listen(80, '::', () => console.log('ready'))`;
const GET = `require('node:http').get(process.argv[1], { headers: JSON.parse(process.argv[2]) }, (response) => {
  response.pipe(process.stdout);
})`;

/** A network of its own, with capture.sh in force, addresses of Services, and one server behind all of them. */
export class CapturedSpace {
  readonly #processes: ChildProcess[] = [];

  /** Why there can be none on this machine. */
  static async obstacle(): Promise<string | undefined> {
    if (process.getuid?.() !== 0) return 'needs root';
    const tools = 'ip link set lo up && command -v iptables-restore ip6tables-restore setpriv nsenter';
    return promisify(execFile)('unshare', ['--net', 'sh', '-c', tools], { env: { PATH: searchPath() } }).then(
      () => undefined,
      (err: Error) => `no network of its own: ${err.message.split('\n')[0]}`,
    );
  }

  static async start(addresses: readonly string[]): Promise<CapturedSpace> {
    const space = new CapturedSpace();
    const script = [
      'ip link set lo up',
      ...addresses.map((each) => `ip addr add ${each} dev lo${each.includes(':') ? ' nodad' : ''}`),
      'sh -c "$CAPTURE"',
      'echo ready',
      'exec sleep infinity',
    ].join('; ');
    await space.#spawn('unshare', ['--net', 'sh', '-ec', script], {
      CAPTURE: ENVOY_FILES['capture.sh'],
      PROXY_UID: '0',
    });
    await space.spawn(process.execPath, ['-e', SERVER]);
    return space;
  }

  /** Runs a program inside, until the space is stopped. Resolves with its first line. */
  spawn(program: string, args: readonly string[]): Promise<string> {
    return this.#spawn('nsenter', [...this.#inside, program, ...args]);
  }

  /** What a client inside gets from an address. */
  get(url: string, headers: Readonly<Record<string, string>> = {}): Promise<string> {
    return this.asClient(GET, url, JSON.stringify(headers));
  }

  /** Runs a script of Node as the client, whose connections are captured. Resolves with what it printed. */
  async asClient(script: string, ...args: readonly string[]): Promise<string> {
    const user = ['setpriv', '--reuid', CLIENT, '--regid', CLIENT, '--clear-groups'];
    const all = [...this.#inside, ...user, process.execPath, '-e', script, ...args];
    const { stdout } = await promisify(execFile)('nsenter', all, { env: { PATH: searchPath() } });
    return stdout;
  }

  async stop(): Promise<void> {
    for (const child of this.#processes.reverse()) {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    }
  }

  get #inside(): readonly string[] {
    return ['--target', `${this.#processes[0]?.pid}`, '--net'];
  }

  async #spawn(program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', program, ...args], {
      env: { PATH: searchPath(), ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#processes.push(child);

    const [line] = await once(createInterface({ input: child.stdout }), 'line');
    return String(line);
  }
}
