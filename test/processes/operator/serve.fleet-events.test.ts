import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, expect, jest, test } from '@jest/globals';
import { conditionOf } from '../../../src/networks/api/conditions.ts';
import type { Network } from '../../../src/networks/api/types.ts';
import {
  FLEET_RESOURCES,
  type FleetSize,
  fillFleet,
  fleetNamespace,
  fleetPod,
  fleetRoute,
  fleetTemplates,
} from '../../support/scale/fleet-objects.ts';
import { FleetOperator } from '../../support/scale/fleet-operator.ts';
import { FleetServer, type Item } from '../../support/scale/fleet-server.ts';
import { countAt, fewestOf, mostOf, type Runs } from '../../support/scale/run-counter.ts';

const SIZE: FleetSize = { pods: 120, networks: 20, namespaces: 20, templates: 20, routes: 40 };
const DOUBLE: FleetSize = { pods: 240, networks: 40, namespaces: 40, templates: 40, routes: 80 };
/** What differs by less is noise. A loop over all objects of any kind adds twice as many runs. */
const NOISE = 10;
/** Of work in proportion to the objects, with what a sort takes more. */
const MOST = 3.2;
/** All objects twice: work for each pair, even of the fewest, is more. */
const TWICE = 2 * Object.values(DOUBLE).reduce((sum, count) => sum + count, 0);
/**
 * The file of each namespace has all routes. So what goes through their bytes grows by both, as the files do. Its noise is
 * in characters.
 */
const BYTES =
  /^(builtins|util\/text-bounds|kube\/client|kube\/api\/response|addons\/routes\/compile\/route-configuration)/;
const BYTES_NOISE = 500;
const TIMES = 3;
const ARGS = ['--leader-elect=false'];
jest.setTimeout(600_000);

/** An event, as `server` sends it for the nth time; and whether it may concern all objects. */
interface Kind {
  readonly isForAll?: boolean;
  send(server: FleetServer, size: FleetSize, nth: number): unknown;
}

const pod = (index: number): Kind => ({
  send: (server, size, nth) => server.event('pods', 'MODIFIED', fleetPod(index, size, nth)),
});

const KINDS: Readonly<Record<string, Kind>> = {
  'a pod changes': pod(3),
  'a pod on a Network changes': pod(10),
  'a pod without its sidecar changes': pod(100),
  'a Network changes': {
    send(server, _, nth) {
      const [network = {}] = server.stored('networks');
      const metadata = { ...Object(network.metadata), generation: 1 + nth };
      server.put('networks', { ...network, metadata });
    },
  },
  'the labels of a namespace change': {
    send: (server, _, nth) => server.event('namespaces', 'MODIFIED', fleetNamespace(3, nth)),
  },
  // It is written into the file of each namespace.
  'a route changes': {
    isForAll: true,
    send: (server, size, nth) => server.put('httproutes', fleetRoute(3, size, nth)),
  },
  // All of them come at once, in one object.
  'a template changes': {
    isForAll: true,
    send: (server, { templates }, nth) => server.put('configmaps', fleetTemplates(templates, nth)),
  },
};

const isReady = (item: Item) =>
  conditionOf((item as unknown as Network).status?.conditions, 'Ready')?.status === 'True';

/** What runs for one event of each kind, in an operator that has found all as it should be. */
async function runsBeside(size: FleetSize): Promise<Readonly<Record<string, readonly Runs[]>>> {
  const directory = await mkdtemp(join(tmpdir(), 'fleet-events-'));
  const server = await FleetServer.start(FLEET_RESOURCES);
  const running: FleetOperator[] = [];
  const start = async (name: string, how: 'runs' | 'garbage') => {
    const program = 'build/src/main.js';
    const operator = await FleetOperator.start({
      ...{ server: server.url, directory, name, args: ARGS, program, how },
    });
    running.push(operator);
    return operator;
  };
  try {
    fillFleet(server, size);
    const first = await start('first', 'garbage');
    while (!server.stored('networks').every(isReady)) await pause(100);
    await first.untilIdle();
    await first.stop();
    const operator = await start('second', 'runs');
    // What ran at the start is not counted: by chance, it goes through all objects once or twice.
    await operator.runsOfStart();
    const runs: Record<string, readonly Runs[]> = {};
    for (const [kind, { send }] of Object.entries(KINDS)) {
      const times: Runs[] = [];
      for (let nth = 1; nth <= TIMES; nth++) {
        times.push(await operator.runsOf(() => send(server, size, nth)));
      }
      runs[kind] = times;
    }
    return runs;
  } finally {
    await Promise.all(running.map((each) => each.stop()));
    await server.stop();
    await rm(directory, { recursive: true });
  }
}

/** What ran more often beside twice as many objects: `FUNCTION: N, 2N`. */
function grown(kind: string, most: number): readonly string[] {
  const [small, double] = [mostOf(beside[0]?.[kind] ?? []), fewestOf(beside[1]?.[kind] ?? [])];
  // An event that never came to the operator makes nothing run.
  expect(Object.keys(double).length).toBeGreaterThan(10);
  return Object.entries(double).flatMap(([name, ranges]) => {
    const [factor, noise] = BYTES.test(name) ? [most ** 2, BYTES_NOISE] : [most, NOISE];
    return ranges.flatMap((range) => {
      const [before, after] = [countAt(small, name, range), countAt(double, name, range)];
      const isMore = after > factor * before + noise && (most === 1 || after > TWICE);
      return isMore ? [`${name}: ${before}, ${after}`] : [];
    });
  });
}

let beside: readonly Readonly<Record<string, readonly Runs[]>>[];
beforeAll(async () => {
  beside = await Promise.all([SIZE, DOUBLE].map(runsBeside));
});

test.each(Object.entries(KINDS))(
  '%s: the operator runs as much code beside twice as many objects',
  (kind, { isForAll = false }) => {
    expect(grown(kind, isForAll ? MOST : 1)).toEqual([]);
  },
);
