import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { KubeObject } from '../../../src/kube/api/object.ts';
import { EVENTS } from '../../../src/kube/events/event-object.ts';
import type { EventDetails } from '../../../src/kube/events/events.ts';
import { QueuedEventRecorder } from '../../../src/kube/events/queued-event-recorder.ts';
import { systemClock } from '../../../src/kube/workqueue/clock.ts';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { startControlPlane } from '../../env/control-plane/start.ts';
import { capturedLog } from '../../support/kube/captured-log.ts';
import { type ApiAccess, connect } from '../../support/operator/api-access.ts';
import { watchUntil } from '../../support/time/watch-until.ts';

const details: EventDetails = {
  type: 'Warning',
  reason: 'Conflict',
  action: 'Inject',
  note: 'two of one name',
};

let controlPlane: ControlPlane;
let api: ApiAccess;
let ends: (() => Promise<void>)[] = [];

beforeAll(async () => {
  controlPlane = await startControlPlane();
  api = connect(controlPlane.kubeconfigPath);
}, 60_000);

afterEach(async () => {
  await Promise.all(ends.map((end) => end()));
  ends = [];
});

afterAll(async () => {
  await api.close();
  await controlPlane.stop();
});

/** kubectl's output; an error where it fails. */
async function kubectl(...args: readonly string[]): Promise<string> {
  const { stdout, stderr, code } = await controlPlane.kubectl(args);
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
  return stdout;
}

async function createConfigMap(name: string, namespace = 'default'): Promise<KubeObject> {
  const made = await kubectl('create', 'configmap', name, '--namespace', namespace, '--output', 'json');
  return JSON.parse(made) as KubeObject;
}

function startRecorder() {
  const { log, lines } = capturedLog();
  const recorder = new QueuedEventRecorder({
    client: api.client,
    clock: systemClock,
    wallClock: () => new Date(),
    source: { controller: 'envoy-initializer', instance: 'envoy-initializer-0' },
    log,
  });
  const stop = new AbortController();
  const running = recorder.run(stop.signal);
  /** Resolves when all is written. */
  const end = () => {
    stop.abort();
    return running;
  };
  ends.push(end);
  return { recorder, end, lines };
}

/** Resolves when the object has an Event that was seen so often. */
function eventOf(regarding: KubeObject, count: number, namespace = 'default'): Promise<KubeObject> {
  return watchUntil(api.client, EVENTS, namespace, (event) => {
    const { regarding: about, series } = event as KubeObject & {
      regarding: { uid?: string };
      series?: { count: number };
    };
    return about.uid === regarding.metadata.uid && (series?.count ?? 1) === count;
  });
}

test('a repeated Event shows in kubectl with its count', async () => {
  const regarding = await createConfigMap('repeated');
  const { recorder, end, lines } = startRecorder();

  recorder.event(regarding, details);
  await eventOf(regarding, 1);
  recorder.event(regarding, details);
  await eventOf(regarding, 2);
  for (let i = 0; i < 5; i++) recorder.event(regarding, details);
  await end();

  const events = await kubectl(
    'get',
    'events',
    '--field-selector',
    'involvedObject.name=repeated',
    '-o',
    'wide',
  );
  const [header = '', row = '', ...more] = events.trimEnd().split('\n');
  expect(more).toEqual([]);
  expect(row.slice(header.indexOf('COUNT')).trim().split(/\s+/)[0]).toBe('7');
  expect(row).toMatch(/Warning +Conflict +configmap\/repeated/);
  expect(await kubectl('describe', 'configmap', 'repeated')).toMatch(/\(x7 over .*two of one name/);
  expect(lines).toEqual([]);
});

test('the longest names and notes, of any characters, are taken', async () => {
  const regarding = await createConfigMap('n'.repeat(253));
  const { recorder, end, lines } = startRecorder();

  recorder.event(regarding, {
    type: 'Normal',
    reason: 'R'.repeat(500),
    action: 'A'.repeat(500),
    note: '🚢 é \ud800 '.repeat(500),
    related: await createConfigMap('related'),
  });
  await end();

  await eventOf(regarding, 1);
  expect(lines).toEqual([]);
});

test('an Event about a cluster-scoped object is in the namespace default', async () => {
  const namespace: KubeObject = JSON.parse(
    await kubectl('create', 'namespace', 'cluster-scoped', '-o', 'json'),
  );
  const { recorder, end } = startRecorder();

  recorder.event(namespace, details);
  await end();

  await eventOf(namespace, 1, 'default');
});

test('an Event in a namespace that is being deleted holds up no other', async () => {
  await kubectl('create', 'namespace', 'leaving');
  const leaving = await createConfigMap('kept', 'leaving');
  const finalizers = JSON.stringify({ metadata: { finalizers: ['example.org/keep'] } });
  await kubectl('patch', 'configmap', 'kept', '-n', 'leaving', '--type', 'merge', '--patch', finalizers);
  await kubectl('delete', 'namespace', 'leaving', '--wait=false');
  const staying = await createConfigMap('staying');
  const { recorder, end, lines } = startRecorder();

  recorder.event(leaving, details);
  recorder.event(staying, details);
  await eventOf(staying, 1);
  await end();

  expect(lines).toEqual([]);
  const none = JSON.stringify({ metadata: { finalizers: null } });
  await kubectl('patch', 'configmap', 'kept', '-n', 'leaving', '--type', 'merge', '--patch', none);
});
