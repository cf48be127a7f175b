import { setTimeout as pause } from 'node:timers/promises';
import type { KubeObject } from '../../src/kube/api/object.ts';
import { errorEvent, type Fault } from '../support/faults/fault.ts';
import type { FaultLab } from '../support/faults/fault-lab.ts';
import type { FaultProxy } from '../support/faults/fault-proxy.ts';
import { configMaps } from '../support/kube/scripted-objects.ts';
import type { Running, Subject } from './subject.ts';

/** What a case has to do with: an informer behind a proxy, and a namespace that it watches. */
export interface Stage {
  readonly proxy: FaultProxy;
  readonly running: Running;
  /** What the informer told its handler, in order. */
  readonly events: readonly string[];
  create(name: string): Promise<void>;
  remove(name: string): Promise<void>;
}

/** One thing that happens to an informer, and whether it is still right afterwards. */
export interface Case {
  readonly title: string;
  readonly faults: readonly Fault[];
  readonly pageSize?: number;
  /** A handler that throws when it is told this. */
  readonly throwsAt?: string;
  /** It looks at the whole process. */
  readonly alone?: true;
  /** Objects that are there from the start. */
  readonly objects?: readonly string[];
  survives(stage: Stage): Promise<boolean>;
}

/** Longer than what either takes to find a dead connection (30 s client-node's, 150 s ours), and to mend it. */
const PATIENCE_MS = 200_000;
const none: Fault = { kind: 'none' };
const watch = (fault: Fault): readonly Fault[] => [none, fault];

/** Changes the world once all faults have struck; whoever is alive learns of it. */
async function hearsOfWhatFollows({ proxy, running, create, remove }: Stage): Promise<boolean> {
  await within(async () => proxy.pendingFaults === 0, PATIENCE_MS);
  // Faults within a stream strike a moment after it began.
  await pause(300);
  await create('second');
  await remove('first');
  return within(async () => running.cached().join() === 'second', PATIENCE_MS);
}

const hears = (title: string, faults: readonly Fault[]): Case => ({
  title,
  faults,
  survives: hearsOfWhatFollows,
});

export const cases: readonly Case[] = [
  hears('list answered with 500', [{ kind: 'status', code: 500 }]),
  hears('list answered with 429', [{ kind: 'status', code: 429, retryAfter: 1 }]),
  hears('list answered with 404 (the CRD comes later)', [{ kind: 'status', code: 404 }]),
  hears('list reset (ECONNRESET)', [{ kind: 'reset' }]),
  hears('list cut in the middle', [{ kind: 'cut', after: 0.1 }]),
  hears('list never answered', [{ kind: 'hang' }]),
  hears('watch answered with 429', watch({ kind: 'status', code: 429, retryAfter: 1 })),
  hears('watch answered with 500', watch({ kind: 'status', code: 500 })),
  hears('watch answered with 503', watch({ kind: 'status', code: 503 })),
  hears('watch answered with 410', watch({ kind: 'status', code: 410 })),
  hears('watch reset (ECONNRESET)', watch({ kind: 'reset' })),
  hears('server restarted (refused for 2 s)', watch({ kind: 'refuse', ms: 2_000 })),
  hears('watch never answered', watch({ kind: 'hang' })),
  hears('stream cut', watch({ kind: 'cut', after: 0 })),
  hears('stream ended by the server', watch({ kind: 'end', after: 0 })),
  hears('410 in the stream', watch({ kind: 'insert', after: 0, text: errorEvent(410, 'Expired') })),
  hears('500 in the stream', watch({ kind: 'insert', after: 0, text: errorEvent(500, 'InternalError') })),
  hears('line of garbage in the stream', watch({ kind: 'insert', after: 0, text: 'garbage\n' })),
  hears('event garbled in the stream', watch({ kind: 'truncate', after: 0 })),
  hears('stream half-open', watch({ kind: 'stall', after: 0 })),
  {
    title: 'quiet for 65 s: the watch is left alone',
    faults: [],
    survives: async ({ proxy }) => {
      await within(async () => proxy.requests.length === 2, PATIENCE_MS);
      await pause(65_000);
      return proxy.requests.length === 2;
    },
  },
  {
    title: 'list in pages: no object lost',
    faults: [],
    pageSize: 2,
    objects: ['first', 'a', 'b', 'c', 'd'],
    survives: ({ running }) => within(async () => running.cached().length === 5, 5_000),
  },
  {
    title: 'object deleted while the watch was down: told of it',
    faults: [],
    survives: async ({ proxy, running, events, remove }) => {
      await within(async () => running.cached().length === 1, PATIENCE_MS);
      const comeBack = await proxy.outage('refuse');
      await remove('first');
      await comeBack();
      return within(async () => events.includes('delete first'), PATIENCE_MS);
    },
  },
  {
    title: 'object replaced while the watch was down: told of both',
    faults: [],
    survives: async ({ proxy, running, events, create, remove }) => {
      await within(async () => running.cached().length === 1, PATIENCE_MS);
      const comeBack = await proxy.outage('refuse');
      await remove('first');
      await create('first');
      proxy.schedule({ kind: 'status', code: 410 });
      await comeBack();
      return within(async () => events.join() === 'add first,delete first,add first', PATIENCE_MS);
    },
  },
  {
    title: 'stopped during its list: no event and no request after',
    faults: [{ kind: 'delay', ms: 500 }],
    survives: async ({ proxy, running, events }) => {
      await within(async () => proxy.pendingFaults === 0, PATIENCE_MS);
      running.stop();
      await pause(2_000);
      return events.length === 0 && proxy.requests.length === 1;
    },
  },
  {
    title: 'handler that throws: no unhandled rejection, and the next event comes',
    faults: [],
    alone: true,
    throwsAt: 'add second',
    survives: async ({ running, events, create }) => {
      await within(async () => running.cached().length === 1, PATIENCE_MS);
      const rejections: unknown[] = [];
      const note = (reason: unknown) => rejections.push(reason);
      process.on('unhandledRejection', note);
      await create('second');
      await create('third');
      const told = await within(async () => events.includes('add third'), 5_000);
      process.off('unhandledRejection', note);
      return told && rejections.length === 0;
    },
  },
  {
    title: 'handler that joins late: told of what is there',
    faults: [],
    survives: async ({ running }) => {
      await within(async () => running.cached().length === 1, PATIENCE_MS);
      const late: string[] = [];
      running.join((event) => late.push(event));
      return within(async () => late.join() === 'add first', 2_000);
    },
  },
];

/** Plays a case with an informer of its own, in a namespace of its own. */
export async function play(
  { faults, pageSize, throwsAt, objects = ['first'], survives }: Case,
  subject: Subject,
  lab: FaultLab,
): Promise<boolean> {
  const namespace = await lab.namespace();
  const create = async (name: string): Promise<void> => {
    await lab.client.create(configMaps, { metadata: { namespace, name } } as KubeObject);
  };
  for (const name of objects) await create(name);
  const proxy = await lab.proxy(faults);
  const events: string[] = [];
  const told = (event: string) => {
    events.push(event);
    if (event === throwsAt) throw new Error('thrown by a handler');
  };
  const running = subject.start({ config: proxy.kubeConfig, namespace, told, ...(pageSize && { pageSize }) });
  try {
    const remove = (name: string) => lab.client.delete(configMaps, { namespace, name });
    return await survives({ proxy, running, events, create, remove });
  } finally {
    await running.close();
    await proxy.close();
  }
}

/** Whether it becomes so in time. */
async function within(isSo: () => Promise<boolean>, ms: number): Promise<boolean> {
  const end = Date.now() + ms;
  while (!(await isSo())) {
    if (Date.now() > end) return false;
    await pause(50);
  }
  return true;
}
