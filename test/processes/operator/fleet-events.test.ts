import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, jest, test } from '@jest/globals';
import {
  FLEET_RESOURCES,
  fillFleet,
  fleetNamespace,
  fleetPod,
  fleetRoute,
  fleetTemplates,
} from '../../support/scale/fleet-objects.ts';
import { FleetOperator } from '../../support/scale/fleet-operator.ts';
import { FleetServer } from '../../support/scale/fleet-server.ts';

/** Twice as many of all make some events no dearer, and those that look at all no more than twice as dear, with noise. */
const MOST = { constant: 1.6, linear: 2.7 };
const SMALL = { pods: 100, networks: 20, namespaces: 20, templates: 4, routes: 40 };
const DOUBLE = { pods: 200, networks: 40, namespaces: 40, templates: 8, routes: 80 };
const TIMES = 3;
jest.setTimeout(600_000);

/** The steps of one event of each kind: the fewest of several, beside which no timer of the operator ran. */
async function stepsBeside(size: typeof SMALL): Promise<Readonly<Record<string, number>>> {
  const directory = await mkdtemp(join(tmpdir(), 'fleet-events-'));
  const server = await FleetServer.start(FLEET_RESOURCES);
  let operator: FleetOperator | undefined;
  try {
    fillFleet(server, size);
    const args = ['--leader-elect=false'];
    const program = 'build/src/main.js';
    operator = await FleetOperator.start({
      ...{ server: server.url, directory, name: 'operator', args, program, how: 'steps' },
    });
    await operator.untilReady();
    await operator.stepsOf(() => undefined);
    const changes: Readonly<Record<string, (change: number) => unknown>> = {
      pod: (change) => server.event('pods', 'MODIFIED', fleetPod(3, size, change)),
      network(change) {
        const [network = {}] = server.stored('networks');
        server.put('networks', {
          ...network,
          metadata: { ...Object(network.metadata), generation: 1 + change },
        });
      },
      namespace: (change) => server.event('namespaces', 'MODIFIED', fleetNamespace(3, change)),
      route: (change) => server.put('httproutes', fleetRoute(3, size, change)),
      templates: (change) => server.put('configmaps', fleetTemplates(size.templates, change)),
    };
    const steps: Record<string, number> = {};
    for (const [kind, change] of Object.entries(changes)) {
      const counts: number[] = [];
      for (let time = 1; time <= TIMES; time++) counts.push(await operator.stepsOf(() => change(time)));
      steps[kind] = Math.min(...counts);
    }
    return steps;
  } finally {
    await operator?.stop();
    await server.stop();
    await rm(directory, { recursive: true });
  }
}

test('an event is no dearer beside more objects, or in proportion to those that it concerns', async () => {
  const [small, double] = [await stepsBeside(SMALL), await stepsBeside(DOUBLE)];
  const growth = (kind: string) => (double[kind] ?? Number.NaN) / (small[kind] ?? Number.NaN);
  const kinds = {
    pod: 'constant',
    network: 'constant',
    namespace: 'constant',
    route: 'linear',
    templates: 'linear',
  } as const;
  for (const [kind, how] of Object.entries(kinds)) {
    const figures = { kind, small: small[kind], double: double[kind] };
    expect({ ...figures, isWithin: growth(kind) <= MOST[how] }).toEqual({ ...figures, isWithin: true });
    // An event that never came to the operator costs nothing.
    expect(small[kind]).toBeGreaterThan(500);
  }
});
