import { setTimeout as pause } from 'node:timers/promises';
import type { ProxiedOperator } from '../support/faults/proxied-operator.ts';
import type { OutageShape } from './settings.ts';

/** How one outage went. */
export interface Round {
  /** From the server's return until a Network that is made then is Ready; infinite where it never was. */
  readonly readyMs: number;
  /** The same for a Network that was made within the outage. */
  readonly pendingReadyMs: number;
  /** How long a Network took that was made later, when all that the outage left behind has ended. */
  readonly laterReadyMs: number;
  /** How long after its last renewal the process wrote, of all its writes the latest; 0 where it wrote nothing. */
  readonly latestWriteMs: number;
  readonly lateWrites: readonly string[];
}

/** The leader gives up after this. */
export const RENEW_DEADLINE_MS = 10_000;
/** A write that was asked for in time may be so long on its way. */
const ON_ITS_WAY_MS = 1_000;
/** By then a leader that renews each 2 s has tried and failed, and still leads. */
const WORK_ARRIVES = 0.6;
/** Longer than a connect that is never answered. */
const LATER_MS = 12_000;
const PATIENCE_MS = 60_000;
const LOOK_EVERY_MS = 20;

/** Plays one outage. Work arrives within it, while the leader still believes that it leads. */
export async function playOutage(
  subject: ProxiedOperator,
  { kind, answersHeld }: OutageShape,
  { seconds, round }: { readonly seconds: number; readonly round: number },
): Promise<Round> {
  const names = ['pending', 'after', 'later'].map((name) => `${name}-${round}`);
  const [pending = '', after = '', later = ''] = names;
  const begin = performance.now();
  const comeBack = await subject.proxy.outage(kind);
  const workMs = Math.min(seconds * 1_000 * WORK_ARRIVES, 0.7 * RENEW_DEADLINE_MS);
  await pause(begin + workMs - performance.now());
  await subject.createNetwork(pending, 3 * round);
  await pause(begin + seconds * 1_000 - performance.now());
  const returned = performance.now();
  await comeBack({ answersHeld });
  await subject.createNetwork(after, 3 * round + 1);
  const [pendingReadyMs = 0, readyMs = 0] = await Promise.all(
    [pending, after].map((name) => timeUntil(returned, () => subject.isReady(name))),
  );
  await pause(returned + LATER_MS - performance.now());
  const made = performance.now();
  await subject.createNetwork(later, 3 * round + 2);
  const laterReadyMs = await timeUntil(made, () => subject.isReady(later));
  if (Number.isFinite(readyMs + pendingReadyMs + laterReadyMs)) {
    for (const name of names) await subject.deleteNetwork(name);
    for (const name of names) await timeUntil(made, () => subject.isGone(name));
  }
  const writes = subject.termWrites(begin);
  const late = writes.filter(({ sinceRenewalMs }) => sinceRenewalMs > RENEW_DEADLINE_MS + ON_ITS_WAY_MS);
  return {
    readyMs,
    pendingReadyMs,
    laterReadyMs,
    latestWriteMs: Math.max(0, ...writes.map(({ sinceRenewalMs }) => sinceRenewalMs)),
    lateWrites: late.map(
      ({ request, sinceRenewalMs }) =>
        `${request.method} ${request.url} ${(sinceRenewalMs / 1_000).toFixed(1)} s after the last renewal`,
    ),
  };
}

/** Milliseconds from `start` until it is so; infinite where it is not within a minute. */
async function timeUntil(start: number, isSo: () => Promise<boolean>): Promise<number> {
  while (performance.now() - start < PATIENCE_MS) {
    if (await isSo()) return performance.now() - start;
    await pause(LOOK_EVERY_MS);
  }
  return Number.POSITIVE_INFINITY;
}
