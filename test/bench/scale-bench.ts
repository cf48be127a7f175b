import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { conditionOf } from '../../src/networks/api/conditions.ts';
import type { Network } from '../../src/networks/api/types.ts';
import {
  FLEET_RESOURCES,
  type FleetSize,
  fillFleet,
  fleetNamespace,
  fleetPod,
  fleetRoute,
  fleetTemplates,
} from '../support/scale/fleet-objects.ts';
import { FleetOperator } from '../support/scale/fleet-operator.ts';
import { FleetServer, type Item } from '../support/scale/fleet-server.ts';
import type { Measurement } from './measurement.ts';
import { LOAD_CORE, pin, pinned, SERVER_CORE } from './pinned.ts';
import { progress } from './progress.ts';
import type { BenchSettings } from './settings.ts';
import { ALONE } from './stage.ts';
import { summarise } from './statistics.ts';

/** Ten times the pods that the settings have, and as many Networks. */
const PODS_OF_NETWORK = 10;
const SIZES = [1, 2, 4];
/** Each a little after the one before: the operator may gather those that come at once. */
const EVENTS = 200;
const TEMPLATE_EVENTS = 5;
const PAUSE_MS = 10;
/** An idle process returns the memory of its start after at most 10 s. */
const RETURNED_MS = 12_000;
/** For how long the CPU time without events is counted. */
const QUIET_MS = 10_000;

/** In MB: the limit of the design. */
const MOST_MB = 350;
/** What grows with its input grows by as much from the first size to the last, with some noise. */
const MOST_GROWTH = 4.4;

interface Point {
  readonly size: FleetSize;
  /** In seconds of CPU time: a second replica, until it is ready and has nothing more to do. */
  readonly startSeconds: number;
  readonly residentMb: number;
  readonly peakMb: number;
  /** By what the event is about, in milliseconds of CPU time. */
  readonly eventMs: Readonly<Record<string, number>>;
}

/** The operator beside a fleet of n, 2n and 4n objects of each kind, from a server without etcd: no time of etcd's is in the figures. */
export async function scaleBench({ networks }: BenchSettings): Promise<readonly Measurement[]> {
  pin(process.pid, LOAD_CORE);
  const points: Point[] = [];
  for (const share of SIZES.map((size) => size / 4)) {
    const point = await measure({
      pods: Math.round(PODS_OF_NETWORK * networks * share),
      networks: Math.round(networks * share),
      namespaces: Math.ceil((networks / 10) * share),
      templates: Math.ceil((networks / 100) * share),
      routes: Math.ceil((networks / 10) * share),
    });
    points.push(point);
    progress(`  ${JSON.stringify(point)}`);
  }
  const [first, last] = [points.at(0), points.at(-1)];
  if (!first || !last) return [];
  const { pods, namespaces, templates, routes } = last.size;
  const fleet = `${pods} pods, ${last.size.networks} Networks, ${namespaces} namespaces, ${templates} templates, ${routes} routes`;
  const growth = (name: string, unit: string, of: (point: Point) => number) => ({
    ...{ name, unit, ours: summarise([of(last)]), floor: summarise([of(first)]) },
    ratio: summarise([of(last) / of(first)]),
  });
  const events = Object.keys(last.eventMs).map((what) => ({
    ...growth(`CPU time of one event, by a quarter: ${what}`, 'ms', ({ eventMs }) => eventMs[what] ?? 0),
    bound: { most: MOST_GROWTH },
  }));
  return [
    {
      name: `resident memory: ${fleet}`,
      unit: 'MB',
      ours: summarise([last.residentMb]),
      bound: { most: MOST_MB },
    },
    growth('the most memory meanwhile, by that of a quarter', 'MB', ({ peakMb }) => peakMb),
    {
      ...growth(
        'CPU time of the start of a second replica, by that beside a quarter',
        's',
        ({ startSeconds }) => startSeconds,
      ),
      bound: { most: MOST_GROWTH },
    },
    ...events,
  ];
}

async function measure(size: FleetSize): Promise<Point> {
  const directory = await mkdtemp(join(tmpdir(), 'envoy-initializer-scale-'));
  const server = await FleetServer.start(FLEET_RESOURCES);
  const start = (name: string, ...args: readonly string[]) =>
    FleetOperator.start({
      ...{ server: server.url, directory, name, args: [ALONE, ...args] },
      around: (command) => pinned(SERVER_CORE, command),
    });
  const running: FleetOperator[] = [];
  try {
    fillFleet(server, size);
    const first = await start('first');
    running.push(first);
    while (!server.stored('networks').every(isReady)) await pause(500);
    await first.untilIdle();
    await first.stop();
    const second = await start('second');
    running.push(second);
    await second.untilReady();
    await second.untilIdle();
    const startSeconds = second.cpuSeconds();
    await pause(RETURNED_MS);
    const { now: residentMb, most: peakMb } = await second.memory();
    await second.stop();
    // A resync costs more than the events.
    const third = await start('third', '--resync=1h');
    running.push(third);
    await third.untilReady();
    await third.untilIdle();
    await pause(RETURNED_MS);
    return { size, startSeconds, residentMb, peakMb, eventMs: await costs(third, server, size) };
  } finally {
    await Promise.all(running.map((each) => each.stop()));
    await server.stop();
    await rm(directory, { recursive: true });
  }
}

const isReady = (item: Item) =>
  conditionOf((item as unknown as Network).status?.conditions, 'Ready')?.status === 'True';

async function costs(operator: FleetOperator, server: FleetServer, size: FleetSize) {
  const networks = server.stored('networks');
  const changes: Readonly<Record<string, (nth: number) => unknown>> = {
    'a pod': (nth) => server.event('pods', 'MODIFIED', fleetPod(nth % size.pods, size, 1)),
    'a Network': (nth) => {
      const network = networks[nth % networks.length] ?? {};
      server.put('networks', { ...network, metadata: { ...Object(network.metadata), generation: 2 } });
    },
    'a namespace': (nth) =>
      server.event('namespaces', 'MODIFIED', fleetNamespace(nth % size.namespaces, 1 + nth)),
    'the templates': (nth) => server.put('configmaps', fleetTemplates(size.templates, 1 + nth)),
    // The last: the sidecars of a changed route are asked for two minutes more.
    'a route': (nth) => server.put('httproutes', fleetRoute(nth % size.routes, size, 1 + nth)),
  };
  const cpuOf = async (work: () => Promise<unknown>) => {
    const [before, startMs] = [operator.cpuSeconds(), performance.now()];
    await work();
    return { seconds: operator.cpuSeconds() - before, elapsedMs: performance.now() - startMs };
  };
  const quiet = await cpuOf(() => pause(QUIET_MS));
  const result: Record<string, number> = {};
  for (const [what, change] of Object.entries(changes)) {
    const count = what === 'the templates' ? TEMPLATE_EVENTS : EVENTS;
    const { seconds, elapsedMs } = await cpuOf(async () => {
      for (let nth = 0; nth < count; nth++) {
        change(nth);
        await pause(PAUSE_MS);
      }
      await operator.untilIdle();
    });
    const without = quiet.seconds * (elapsedMs / quiet.elapsedMs);
    result[what] = Math.max(0, (1_000 * (seconds - without)) / count);
  }
  return result;
}
