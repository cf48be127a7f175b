import type { Server } from 'node:http';
import { aborted } from '../util/linked-abort.ts';
import type { Logger } from '../util/log.ts';
import { sleep } from '../util/sleep.ts';
import { type Task, together } from '../util/together.ts';
import type { Clock } from '../workqueue/clock.ts';
import { listen } from './listen.ts';
import { ShutdownBudget } from './shutdown.ts';
import type { Webhooks } from './webhooks.ts';

/** How a process ends. */
export interface ShutdownOptions {
  /** For how long callers are answered once it is not ready any more. */
  readonly delayMs: number;
  /** For all of it: longer than the delay by CLOSING_MS at least. */
  readonly timeoutMs: number;
}

export interface ProcessOptions {
  readonly stop: AbortSignal;
  readonly shutdown: ShutdownOptions;
  readonly clock: Clock;
  readonly log: Logger;
  /** One after the other, before anything else. */
  readonly preparations: readonly (() => Promise<void>)[];
  readonly probes: { readonly server: Server; readonly port: number } | undefined;
  readonly webhooks: Webhooks | undefined;
  /** The parts of each replica. */
  readonly background: readonly Task[];
  /** Those of the leader: whenever this process leads, until the signal aborts and the last term has ended. */
  readonly lead: (ending: AbortSignal) => Promise<void>;
  /** Ends the connections to the API server. */
  readonly close: () => Promise<void>;
}

/** The API server waits no longer than this for an answer (timeoutSeconds of deploy/base/webhook.yaml). */
const CLOSE_GRACE_MS = 5_000;
/** What the last steps of a shutdown need: answers under way, the Events that are left. */
export const CLOSING_MS = CLOSE_GRACE_MS + 3_000;

/**
 * The life of a process: it prepares, listens, works, and when it is told to end, or a part has failed, drains and closes
 * within one budget of time. Rejects with the first failure of a part.
 */
export async function runProcess(options: ProcessOptions): Promise<void> {
  const { stop, shutdown, clock, log, preparations, probes, webhooks } = options;
  const budget = new ShutdownBudget({ clock, log, totalMs: shutdown.timeoutMs });
  const errors: unknown[] = [];
  const failed = new AbortController();
  const watched = (running: Promise<void>) =>
    running.catch((error: unknown) => {
      errors.push(error);
      failed.abort();
    });
  const ending = AbortSignal.any([stop, failed.signal]);
  // Outlives `ending`: what answers the API server goes on while this replica drains.
  const background = new AbortController();
  let [running, led] = [Promise.resolve(), Promise.resolve()];
  try {
    for (const prepare of preparations) await prepare();
    if (probes) await listen(probes.server, probes.port);
    const port = await webhooks?.listen();
    log.info({ webhook: port, metrics: probes && portOf(probes.server) }, 'listening');
    running = watched(together(background.signal, options.background));
    led = watched(options.lead(ending));
    await aborted(ending);
    budget.start();
    const delayMs = failed.signal.aborted ? 0 : shutdown.delayMs;
    log.info({ delayMs }, 'shutting down: not ready, draining');
    // kube-proxy and the API server go on sending for a moment to an endpoint that is being taken out: to its address,
    // and by the connections that they keep. The answers give those up: closing one under a call would fail the call.
    webhooks?.drain();
    const drained = Promise.all([led, sleep(clock, delayMs)]);
    await budget.wait('drain', Promise.race([drained, running]), CLOSING_MS);
  } finally {
    await webhooks?.close(Math.min(CLOSE_GRACE_MS, budget.leftMs));
    background.abort(new Error('the process is ending'));
    await budget.wait('background', running, 0);
    probes?.server.close();
    probes?.server.closeAllConnections();
    await budget.wait('connections', options.close(), 0);
  }
  if (errors.length > 0) throw errors[0];
  log.info('ended');
}

function portOf(server: Server): number | undefined {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : undefined;
}
