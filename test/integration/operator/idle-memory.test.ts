import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eventually } from '../../env/eventually.ts';
import { memoryOf } from '../../support/operator/process-memory.ts';
import { FLEET_RESOURCES } from '../../support/scale/fleet-objects.ts';
import { FleetOperator } from '../../support/scale/fleet-operator.ts';
import { FleetServer } from '../../support/scale/fleet-server.ts';

/**
 * In MiB, of the 54 or so that it has. About 50 more are pages of Node's own file, which no change here makes more or fewer:
 * `make bench` counts them, too.
 */
const MOST_OWN_MB = 64;

let directory: string;
let server: FleetServer;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'idle-memory-'));
  server = await FleetServer.start(FLEET_RESOURCES);
});
afterAll(async () => {
  await server.stop();
  await rm(directory, { recursive: true });
});

test('an idle operator holds what it needs, and no part of other commands', async () => {
  const args = ['--leader-elect=false'];
  const operator = await FleetOperator.start({ server: server.url, directory, name: 'idle', args });
  try {
    await operator.untilReady();
    // It returns what its start needed once it is idle.
    await eventually('it holds little', async () => {
      expect((await memoryOf(operator.pid)).own).toBeLessThan(MOST_OWN_MB);
      return true;
    });
  } finally {
    await operator.stop();
  }
}, 120_000);
