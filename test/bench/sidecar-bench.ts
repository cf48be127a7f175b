import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compileRoutes } from '../../src/addons/routes/compile/compile.ts';
import { ENVOY_FILES } from '../../src/injection/envoy/configurations.ts';
import { READINESS_PORT } from '../../src/injection/envoy/parts.ts';
import {
  DESTINATION_HEADER,
  directRoutes,
  OUTBOUND,
  READINESS,
  READY_ROUTES,
  ROUTES_DIRECTORY,
  ROUTES_FILE,
} from '../../src/injection/envoy/routed.ts';
import type { JsonObject } from '../../src/util/json.ts';
import { ensureEnvoy } from '../env/envoy-binary.ts';
import { eventually } from '../env/eventually.ts';
import { memoryOf } from '../support/operator/process-memory.ts';
import { CapturedSpace } from '../support/routing/captured-space.ts';
import { worldRoute, worldService } from '../support/routing/route-world.ts';
import { routeFor, serviceAt, servicesOf } from '../support/routing/routes.ts';
import type { Measurement } from './measurement.ts';
import { LOAD_CORE, pin } from './pinned.ts';
import type { BenchSettings } from './settings.ts';
import { ratios, summarise } from './statistics.ts';

const WEB = '10.96.255.7';
const V2 = '10.96.255.8';
const BOUND = { most: 1.05 };
/** Slices of each configuration in one run, by turns. */
const SLICES = 4;
/** proc(5): USER_HZ. */
const TICK_MS = 10;

/** Asks on two connections that stay open, as fast as it is answered. Prints how often, and the median latency in µs. */
const LOAD = `const http = require('node:http');
const agent = new http.Agent({ keepAlive: true, maxSockets: 2 });
const end = performance.now() + Number(process.argv[2]);
const times = [];
const ask = () => new Promise((resolve, reject) => {
  const start = performance.now();
  http.get(process.argv[1], { agent }, (response) => {
    if (response.statusCode !== 200) reject(new Error('status ' + response.statusCode));
    response.on('end', () => resolve(times.push(performance.now() - start))).resume();
  }).on('error', reject);
});
const loop = async () => { while (performance.now() < end) await ask(); };
Promise.all([loop(), loop()]).then(() => {
  times.sort((a, b) => a - b);
  console.log(JSON.stringify({ requests: times.length, microseconds: times[times.length >> 1] * 1000 }));
});`;

/** Each sidecar with a file of routes, and the one that has the same routes in its configuration. */
const PAIRS = [
  ['no routes', 'static'],
  ['one route', 'static'],
  ['1,000 routes', 'static, 1,000 routes'],
] as const;

/** What the sidecar of a pod spends on a request, and its memory, beside one whose routes are in its configuration. */
export async function sidecarBench({ runs, seconds }: BenchSettings): Promise<readonly Measurement[]> {
  const obstacle = await CapturedSpace.obstacle();
  if (obstacle !== undefined) {
    process.stderr.write(`no figures of sidecars: ${obstacle}\n`);
    return [];
  }
  const thousand = fileOf([toV2(), ...many()]);
  const subjects = new Map([
    ['static', await Subject.start(withoutFile(TRANSPARENT, []))],
    ['no routes', await Subject.start(TRANSPARENT, fileOf([]))],
    ['one route', await Subject.start(TRANSPARENT, fileOf([toV2()]))],
    ['static, 1,000 routes', await Subject.start(withoutFile(TRANSPARENT, hostsOf(thousand)))],
    ['1,000 routes', await Subject.start(TRANSPARENT, thousand)],
  ]);
  try {
    const slices = new Map([...subjects.keys()].map((name): [string, Slice[]] => [name, []]));
    // The first run counts for nothing.
    for (let run = 0; run <= runs; run++) {
      const sums = new Map<string, Slice[]>();
      for (let slice = 0; slice < SLICES; slice++) {
        for (const [name, subject] of subjects) {
          const one = await subject.load((seconds * 1000) / SLICES);
          sums.set(name, [...(sums.get(name) ?? []), one]);
        }
      }
      if (run > 0) for (const [name, all] of sums) slices.get(name)?.push(medianOf(all));
    }
    const memory = new Map<string, number>();
    for (const [name, subject] of subjects) memory.set(name, await subject.memory());
    return PAIRS.flatMap(([name, beside]) => {
      const [ours, floor] = [slices.get(name) ?? [], slices.get(beside) ?? []];
      const line = (what: string, unit: string, of: (slice: Slice) => number): Measurement => ({
        name: `${what} of a sidecar with ${name}`,
        unit,
        ours: summarise(ours.map(of)),
        floor: summarise(floor.map(of)),
        ratio: summarise(ratios(ours.map(of), floor.map(of))),
        bound: BOUND,
      });
      const size = (subject: string) => [memory.get(subject) ?? Number.NaN];
      return [
        line('CPU time for a request', 'µs', ({ cpu }) => cpu),
        line('median latency', 'µs', ({ latency }) => latency),
        {
          name: `resident memory of a sidecar with ${name}`,
          unit: 'MB',
          ours: summarise(size(name)),
          floor: summarise(size(beside)),
          ratio: summarise(ratios(size(name), size(beside))),
          bound: BOUND,
        },
      ];
    });
  } finally {
    for (const subject of subjects.values()) await subject.stop();
  }
}

/** Of one request, in microseconds. */
interface Slice {
  readonly cpu: number;
  readonly latency: number;
}

function medianOf(slices: readonly Slice[]): Slice {
  const median = (of: (slice: Slice) => number) => summarise(slices.map(of)).median;
  return { cpu: median(({ cpu }) => cpu), latency: median(({ latency }) => latency) };
}

const TRANSPARENT = ENVOY_FILES['transparent.json'] ?? '';
const SIZE = { routes: 1000, services: 500, namespaces: 100 };
const toV2 = () => routeFor('shop/r', 'shop/web', [{ backendRefs: [{ name: 'v2', port: 80 }] }]);
const many = () => Array.from({ length: SIZE.routes }, (_, i) => worldRoute(i, SIZE));

function fileOf(routes: Parameters<typeof compileRoutes>[0]['routes']): string {
  const world = Array.from({ length: SIZE.services }, (_, i) => worldService(i, SIZE));
  const services = servicesOf([serviceAt('shop/web', WEB), serviceAt('shop/v2', V2), ...world]);
  return compileRoutes({ routes, services }).file('clients').text;
}

/** A real Envoy in a network of its own, with capture in force, and a server behind it. */
class Subject {
  readonly #space: CapturedSpace;
  readonly #pid: number;
  readonly #directory: string;

  private constructor(space: CapturedSpace, pid: number, directory: string) {
    this.#space = space;
    this.#pid = pid;
    this.#directory = directory;
  }

  static async start(configuration: string, file = ''): Promise<Subject> {
    const directory = await mkdtemp(join(tmpdir(), 'envoy-initializer-sidecar-'));
    const text = configuration
      .replaceAll(ROUTES_DIRECTORY, directory)
      .replaceAll('/etc/envoy/', `${directory}/`);
    await writeFile(join(directory, 'envoy.json'), text);
    await writeFile(join(directory, ROUTES_FILE), file);
    const space = await CapturedSpace.start([WEB, V2]);
    const envoy = await ensureEnvoy(process.env, process.stderr);
    const args = [
      '--config-path',
      join(directory, 'envoy.json'),
      '--concurrency',
      '1',
      '--disable-hot-restart',
    ];
    const pid = await space.spawn('sh', ['-c', 'echo $$; exec "$0" "$@" >/dev/null 2>&1', envoy, ...args]);
    await eventually(
      'Envoy is ready',
      async () => (await space.get(`http://127.0.0.1:${READINESS_PORT}/ready`)).trim() === 'LIVE',
    );
    pin(Number(pid), LOAD_CORE);
    return new Subject(space, Number(pid), directory);
  }

  async load(milliseconds: number): Promise<Slice> {
    const before = await this.#cpuMs();
    const printed = await this.#space.asClient(LOAD, `http://${WEB}/`, `${milliseconds}`);
    const { requests, microseconds } = JSON.parse(printed);
    return { cpu: (((await this.#cpuMs()) - before) * 1000) / requests, latency: microseconds };
  }

  async memory(): Promise<number> {
    return (await memoryOf(this.#pid)).now;
  }

  async stop(): Promise<void> {
    await this.#space.stop();
    await rm(this.#directory, { recursive: true });
  }

  async #cpuMs(): Promise<number> {
    const stat = await readFile(`/proc/${this.#pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')')).split(' ');
    return (Number(fields[12]) + Number(fields[13])) * TICK_MS;
  }
}

/** The hosts of a file with routes, but for the last two: that of the readiness listener, and what has no routes. */
function hostsOf(file: string): readonly JsonObject[] {
  return JSON.parse(file).resources[0].virtual_hosts.slice(0, -2);
}

/** The same configuration with these hosts and the routes that a file without routes has. */
function withoutFile(text: string, hosts: readonly JsonObject[]): string {
  const last = (name: string, domain: string, routes: readonly JsonObject[]) => ({
    name,
    domains: [domain],
    routes,
  });
  const outbound = { vhost_header: DESTINATION_HEADER, request_headers_to_remove: [DESTINATION_HEADER] };
  return JSON.stringify(
    JSON.parse(text, (_, value) => {
      if (typeof value !== 'object' || value === null || !('rds' in value)) return value;
      const { rds: _file, early_header_mutation_extensions: early, ...rest } = value;
      if (value.stat_prefix !== OUTBOUND) {
        return {
          ...rest,
          route_config: { name: READINESS, virtual_hosts: [last(READINESS, '*', READY_ROUTES)] },
        };
      }
      return {
        ...rest,
        ...(hosts.length > 0 && { early_header_mutation_extensions: early }),
        route_config: {
          ...{ name: OUTBOUND, ...(hosts.length > 0 && outbound) },
          virtual_hosts: [...hosts, last(OUTBOUND, '*', directRoutes(OUTBOUND))],
        },
      };
    }),
  );
}
