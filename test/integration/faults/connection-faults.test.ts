import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { KubeConfig } from '@kubernetes/client-node';
import { TransportError } from '../../../src/kube/api/api-error.ts';
import type { KubeObject } from '../../../src/kube/api/object.ts';
import { Informer } from '../../../src/kube/cache/informer.ts';
import { KubeClient } from '../../../src/kube/client/client.ts';
import { Transport } from '../../../src/kube/client/transport.ts';
import { apiServerPid } from '../../support/faults/api-server-pid.ts';
import { FaultLab } from '../../support/faults/fault-lab.ts';
import { type FaultProxy, isWatch } from '../../support/faults/fault-proxy.ts';
import { configMaps } from '../../support/kube/scripted-objects.ts';
import { testAuthority } from '../../support/kube/test-authority.ts';
import { untilTrue } from '../../support/time/until-true.ts';
import { WatchedClock } from '../../support/time/watched-clock.ts';

/** Bounds of src/kube: silence of a watch, a request, how long a file is believed. */
const STALL_MS = 150_000;
const REQUEST_MS = 30_000;
const FILE_MS = 10_000;
/** The first back-off, with a random number of 0. */
const BACKOFF_MS = 800;
/** What a server that sheds load asks for. */
const RETRY_AFTER_S = 120;

let lab: FaultLab;
let proxy: FaultProxy;
let namespace: string;
let clock: WatchedClock;
let subject: Subject;

interface Subject {
  readonly client: KubeClient;
  readonly informer: Informer<KubeObject>;
  readonly errors: unknown[];
  /** Gets the first object over a new connection. Without WatchList, the list has left one open. */
  getAnew(): Promise<KubeObject>;
  close(): Promise<void>;
}

beforeAll(async () => {
  lab = await FaultLab.start();
});
afterAll(() => lab?.close());
beforeEach(async () => {
  namespace = await lab.namespace();
  clock = new WatchedClock();
  proxy = await lab.proxy([]);
});
afterEach(async () => {
  await subject.close();
  await proxy.close();
});

/** A client, and an informer that has synced, in a time that passes when the test says so. */
async function start(config: KubeConfig = proxy.kubeConfig): Promise<void> {
  const transport = new Transport(config, clock);
  const client = new KubeClient({ transport, clock });
  const stop = new AbortController();
  const errors: unknown[] = [];
  const informer = new Informer<KubeObject>({
    ...{ client, clock, namespace, resource: configMaps, random: () => 0 },
    onError: (error) => errors.push(error),
  });
  const running = informer.run(stop.signal);
  const another = new Transport(config, clock);
  const getAnew = () =>
    new KubeClient({ transport: another, clock }).get(configMaps, { namespace, name: 'first' });
  const close = async () => {
    stop.abort();
    await running;
    await transport.close();
    await another.close();
  };
  subject = { client, informer, errors, getAnew, close };
  await untilTrue(async () => informer.hasSynced());
}

async function create(name: string): Promise<void> {
  const configMap: KubeObject = { metadata: { namespace, name } };
  await lab.client.create(configMaps, configMap);
}

const sees = (name: string) => async () => subject.informer.lister.get(`${namespace}/${name}`) !== undefined;
const get = () => subject.client.get(configMaps, { namespace, name: 'first' });
const codeOf = (error: unknown) => (error instanceof TransportError ? error.code : error);

/** The codes of what went wrong, once that many times. */
async function codes(count: number): Promise<readonly unknown[]> {
  await untilTrue(async () => subject.errors.length >= count);
  return subject.errors.map(codeOf);
}

/** Waits until the watch has ended, and lets it be opened again. */
async function reopen(): Promise<void> {
  await codes(1);
  await clock.pass(BACKOFF_MS);
}

/** Waits for the request to be given up; it was neither refused nor answered. */
async function expectSilence(request: Promise<unknown>): Promise<void> {
  const failed = request.catch(codeOf);
  await clock.pass(REQUEST_MS);
  expect(await failed).toBe('ETIMEDOUT');
}

describe('an outage', () => {
  test('without TLS handshakes is waited out, also by a watch that is never answered', async () => {
    await start();
    const comeBack = await proxy.outage('no-handshake');
    await reopen();
    await untilTrue(async () => proxy.heldConnections > 0);
    await create('missed');
    await comeBack();
    await clock.pass(STALL_MS);
    expect(await codes(2)).toEqual([expect.anything(), 'ESTALLED']);
    await clock.pass(BACKOFF_MS);
    await untilTrue(sees('missed'));
  });

  test('without TLS handshakes fails a request at its bound', async () => {
    await start();
    const comeBack = await proxy.outage('no-handshake');
    await expectSilence(get());
    await comeBack();
    await create('first');
    expect((await get()).metadata.name).toBe('first');
  });

  test('of new connections alone leaves an open watch in peace, and answers late what came meanwhile', async () => {
    await create('first');
    await start();
    const comeBack = await proxy.outage('half');
    const answered = subject.getAnew();
    await untilTrue(async () => proxy.heldConnections === 1);
    await create('meanwhile');
    await untilTrue(sees('meanwhile'));
    await comeBack({ answersHeld: true });
    expect((await answered).metadata.name).toBe('first');
    expect([subject.errors, proxy.requests.filter(({ url }) => isWatch(url)).length]).toEqual([[], 1]);
  });

  test('that drops SYNs fails a request at its bound, and is over when it is over', async () => {
    await start();
    const comeBack = await proxy.outage('blackhole');
    await reopen();
    await expectSilence(get());
    expect(proxy.openConnections).toBe(0);
    await create('missed');
    await comeBack();
    await untilTrue(sees('missed'));
  });

  test('by a server process that is frozen fails a request at its bound, and what it missed comes later', async () => {
    const direct = new KubeConfig();
    direct.loadFromString(readFileSync(lab.controlPlane.kubeconfigPath, 'utf8'));
    await start(direct);
    const pid = apiServerPid(lab.controlPlane);
    process.kill(pid, 'SIGSTOP');
    try {
      await expectSilence(get());
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await create('later');
    await untilTrue(sees('later'));
    expect(subject.errors).toEqual([]);
  });
});

test('a server that sheds load for minutes is asked no sooner than it says, and no list follows', async () => {
  await start();
  proxy.always = () => ({ kind: 'status', code: 429, retryAfter: RETRY_AFTER_S });
  const before = proxy.requests.length;
  const asked = () => proxy.requests.slice(before).map(({ url }) => (isWatch(url) ? 'watch' : 'list'));
  proxy.cutHealthyWatches();
  await reopen();
  await codes(2);
  for (const times of [2, 3, 4, 5]) {
    await clock.pass(RETRY_AFTER_S * 1_000);
    await codes(times + 1);
    expect(asked()).toEqual(Array.from({ length: times }, () => 'watch'));
  }
  proxy.always = () => undefined;
  await create('missed');
  await clock.pass(RETRY_AFTER_S * 1_000);
  await untilTrue(sees('missed'));
  expect(new Set(asked())).toEqual(new Set(['watch']));
});

describe('a certificate of the server that rotates', () => {
  test('under the same authority is taken as it comes, and no open watch ends', async () => {
    const authority = await testAuthority();
    const caFile = join(lab.controlPlane.directory, 'same-ca.pem');
    await writeFile(caFile, authority.caPem);
    proxy.rotate(await authority.server());
    await create('first');
    await start(proxy.kubeConfigWith(caFile));
    proxy.rotate(await authority.server());
    await get();
    await create('meanwhile');
    await untilTrue(sees('meanwhile'));
    expect(subject.errors).toEqual([]);
    proxy.cutHealthyWatches();
    await create('later');
    await reopen();
    await untilTrue(sees('later'));
    expect(subject.errors).toHaveLength(1);
  });

  test('to a new authority is taken once its file says so, and an open watch lives on', async () => {
    const [before, after] = [await testAuthority(), await testAuthority()];
    const caFile = join(lab.controlPlane.directory, 'rotated-ca.pem');
    await writeFile(caFile, before.caPem);
    proxy.rotate(await before.server());
    await create('first');
    await start(proxy.kubeConfigWith(caFile));
    proxy.rotate(await after.server());
    await create('meanwhile');
    await untilTrue(sees('meanwhile'));
    expect(await subject.getAnew().catch(codeOf)).toMatch(/CERT|VERIFY/);
    await writeFile(caFile, after.caPem);
    await clock.advanceAsync(FILE_MS);
    expect((await subject.getAnew()).metadata.name).toBe('first');
    proxy.cutHealthyWatches();
    await create('later');
    await reopen();
    await untilTrue(sees('later'));
  });
});
