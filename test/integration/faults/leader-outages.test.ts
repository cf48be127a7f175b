import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { startControlPlane } from '../../env/control-plane/start.ts';
import { eventually } from '../../env/eventually.ts';
import { apiServerPid } from '../../support/faults/api-server-pid.ts';
import type { OutageKind } from '../../support/faults/fault.ts';
import { FaultLab } from '../../support/faults/fault-lab.ts';
import {
  isLease,
  isOk,
  isTermWrite,
  ProxiedOperator,
  prepareForOperators,
} from '../../support/faults/proxied-operator.ts';
import { untilTrue } from '../../support/time/until-true.ts';

jest.setTimeout(240_000);

let controlPlane: ControlPlane;
let lab: FaultLab;
/** So many that a leader is at work on them when it is frozen. */
const NETWORKS = 100;
const subjects: ProxiedOperator[] = [];

beforeAll(async () => {
  controlPlane = await startControlPlane();
  lab = await FaultLab.before(controlPlane);
  await prepareForOperators(controlPlane);
});
afterAll(async () => {
  await Promise.all(subjects.map((subject) => subject.kill()));
  await lab?.close();
  await controlPlane?.stop();
});

async function start(name: string, namespace?: string): Promise<ProxiedOperator> {
  // More than there is work in an outage, so that each piece makes its request at once.
  const args = ['--workers=64'];
  const options = { name, args, namespace: namespace ?? (await lab.namespace()) };
  const subject = await ProxiedOperator.start(controlPlane, lab, options);
  subjects.push(subject);
  return subject;
}

async function ready(subject: ProxiedOperator, name: string, index: number): Promise<void> {
  await subject.createNetwork(name, index);
  await eventually(`${name} is Ready`, () => subject.isReady(name));
}

const logs = (subject: ProxiedOperator, message: string) =>
  eventually(`the log says: ${message}`, async () => (await subject.logged(message)).length > 0);

/** Writes that came while the process itself said that it does not lead. */
async function writesOutOfTerms(subject: ProxiedOperator): Promise<readonly string[]> {
  const terms = await subject.logged('became leader');
  const ends = await subject.logged('stopped leading');
  const leads = (at: number) => terms.some((from, i) => from <= at && at <= (ends[i] ?? at));
  return subject.proxy.requests
    .filter((request) => isTermWrite(request) && !leads(performance.timeOrigin + request.at))
    .map(({ method, url }) => `${method} ${url}`);
}

/** Takes the server away until the lease is lost, while there is work; resolves with the writes that came out of terms. */
async function lose(kind: OutageKind, answersHeld: boolean): Promise<readonly string[]> {
  const subject = await start(`${kind}-${answersHeld}`);
  await ready(subject, 'first', 1);
  const comeBack = await subject.proxy.outage(kind);
  let pending = 0;
  // Work keeps coming to the end of the term: its requests outlive that, if anything does.
  while ((await subject.logged('stopped leading')).length === 0) {
    await subject.createNetwork(`pending-${pending}`, 256 + pending++);
    await pause(250);
  }
  await comeBack({ answersHeld });
  await eventually('the work of the outage is done', async () => (await subject.ready()) === pending + 1);
  // What the old term left behind ends at the latest with its connections.
  await eventually('no connection waits any more', async () => subject.proxy.heldConnections === 0);
  await ready(subject, 'later', 3);
  return await writesOutOfTerms(subject);
}

const outages: readonly [OutageKind, boolean][] = [
  ['refuse', false],
  ['no-handshake', false],
  ['half', false],
  ['half', true],
  ['blackhole', false],
];

describe('a leader that loses its lease in an outage writes nothing out of its terms, and hears of work again', () => {
  const played = new Map<string, Promise<readonly string[]>>();
  beforeAll(() => {
    // All at once: each waits most of the time.
    for (const [kind, held] of outages) {
      const playing = lose(kind, held);
      playing.catch(() => undefined);
      played.set(`${kind} ${held}`, playing);
    }
  });

  test.each(outages)('%s (connections of the outage are answered in the end: %s)', async (kind, held) => {
    expect(await played.get(`${kind} ${held}`)).toEqual([]);
  });
});

test('a leader whose API server is frozen does the same', async () => {
  const subject = await start('frozen-server');
  await ready(subject, 'first', 1);
  const pid = apiServerPid(controlPlane);
  await subject.createNetwork('pending', 2);
  process.kill(pid, 'SIGSTOP');
  try {
    await logs(subject, 'stopped leading');
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  await eventually('the work of the outage is done', () => subject.isReady('pending'));
  await ready(subject, 'later', 3);
  expect(await writesOutOfTerms(subject)).toEqual([]);
});

test('a leader that is frozen writes nothing when it thaws, since another leads by then', async () => {
  const former = await start('former');
  await ready(former, 'first', 1);
  const other = await start('other', former.namespace);
  const written = () => former.proxy.requests.filter(isTermWrite).length;
  const before = written();
  const create = (i: number) => former.createNetwork(`net-${i}`, 256 + i);
  await Promise.all(Array.from({ length: NETWORKS }, (_, i) => create(i)));
  await untilTrue(async () => written() > before + 5);
  former.operator.process.kill('SIGSTOP');
  try {
    await create(NETWORKS);
    await untilTrue(async () => (await other.ready()) === NETWORKS + 2);
  } finally {
    former.operator.process.kill('SIGCONT');
  }
  await logs(former, 'stopped leading');
  await ready(other, 'later', 2);
  const taken = other.proxy.requests.find(
    (request) => isLease(request) && request.method !== 'GET' && isOk(request),
  );
  expect(taken).toBeDefined();
  const late = former.proxy.requests.filter(
    (request) => isTermWrite(request) && request.at > (taken?.at ?? 0),
  );
  expect(late.map(({ method, url }) => `${method} ${url}`)).toEqual([]);
});
