import { once } from 'node:events';
import type { Server } from 'node:http';
import type { WebhookServer } from '../admission/server.ts';
import type { Logger } from '../util/log.ts';
import { runTaskGroup, type Task } from '../util/task-group.ts';
import { aborted, sleep, withTimeout } from '../util/waits.ts';
import type { Clock } from '../workqueue/clock.ts';

/** The times of a shutdown. */
export interface ShutdownOptions {
  /** How long callers are still answered after the process is no longer ready. */
  readonly delayMs: number;
  /** For the whole shutdown: at least CLOSING_MS longer than the delay. */
  readonly timeoutMs: number;
}

export interface ProcessOptions {
  readonly stop: AbortSignal;
  readonly shutdown: ShutdownOptions;
  readonly clock: Clock;
  readonly log: Logger;
  readonly probes: { readonly server: Server; readonly port: number } | undefined;
  readonly webhooks: { readonly server: WebhookServer; readonly port: number } | undefined;
  /** The parts of each replica. */
  readonly background: readonly Task[];
  /** Runs the leader's parts whenever this process leads, until the signal aborts and the last term has ended. */
  readonly lead: (ending: AbortSignal) => Promise<void>;
  /** Ends the connections to the API server. */
  readonly close: () => Promise<void>;
}

/** The API server waits at most this long for an answer (timeoutSeconds of deploy/base/webhook.yaml). */
const CLOSE_GRACE_MS = 5_000;
/** The time for the last steps of a shutdown: answers in flight, and unwritten Events. */
export const CLOSING_MS = CLOSE_GRACE_MS + 3_000;

/**
 * Runs a process: it listens and works. When `stop` aborts or a part fails, it drains and closes within one
 * budget of time. Rejects with the first failure of a part.
 */
export async function runProcess(options: ProcessOptions): Promise<void> {
  const { stop, shutdown, clock, log, probes, webhooks } = options;
  // All steps of the shutdown together take less than the kubelet's grace period.
  let endsAt: number | undefined;
  const leftMs = () => Math.max(0, (endsAt ?? Number.POSITIVE_INFINITY) - clock.now());
  const begin = () => {
    endsAt ??= clock.now() + shutdown.timeoutMs;
  };
  /** Waits until the work has settled, or until only `reserveMs` are left for later steps. */
  const settled = async (step: string, work: Promise<unknown>, reserveMs: number) => {
    begin();
    const end = () => work.then(() => false).catch(() => false);
    const boundMs = Math.max(0, leftMs() - reserveMs);
    const isLate = await withTimeout(clock, boundMs, undefined, end).catch(() => true);
    if (isLate) log.warn({ step, leftMs: Math.round(leftMs()) }, 'shutdown step did not end in time');
  };
  const errors: unknown[] = [];
  const failed = new AbortController();
  const watched = (running: Promise<void>) =>
    running.catch((error: unknown) => {
      errors.push(error);
      failed.abort();
    });
  const ending = AbortSignal.any([stop, failed.signal]);
  // Outlives `ending`: the webhook still answers while this replica drains.
  const background = new AbortController();
  let [running, led] = [Promise.resolve(), Promise.resolve()];
  try {
    if (probes) await once(probes.server.listen(probes.port), 'listening');
    const port = await webhooks?.server.listen(webhooks.port);
    log.info({ webhook: port, metrics: probes && portOf(probes.server) }, 'listening');
    running = watched(runTaskGroup(background.signal, options.background));
    led = watched(options.lead(ending));
    await aborted(ending);
    begin();
    const delayMs = failed.signal.aborted ? 0 : shutdown.delayMs;
    log.info({ delayMs }, 'shutting down: not ready, draining');
    // kube-proxy and the API server still send to a removed endpoint for a moment: to its address, and over open
    // connections. Each answer asks the client to close its connection: closing it during a call would fail the call.
    webhooks?.server.drain();
    const drained = Promise.all([led, sleep(clock, delayMs)]);
    await settled('drain', Promise.race([drained, running]), CLOSING_MS);
  } finally {
    await webhooks?.server.close(Math.min(CLOSE_GRACE_MS, leftMs()));
    background.abort(new Error('the process is shutting down'));
    await settled('background', running, 0);
    probes?.server.close();
    probes?.server.closeAllConnections();
    await settled('connections', options.close(), 0);
  }
  if (errors.length > 0) throw errors[0];
  log.info('ended');
}

function portOf(server: Server): number | undefined {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : undefined;
}

/**
 * A signal that aborts on SIGTERM (by the kubelet) and SIGINT (by Ctrl-C). A second signal ends the process at once, as
 * users expect of a second Ctrl-C.
 */
export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(name === 'SIGINT' ? 130 : 143);
      controller.abort(new Error(name));
    });
  }
  return controller.signal;
}
