import { expect, test } from '@jest/globals';
import { type ProcessOptions, runProcess } from '../../../../src/kube/manager/lifecycle.ts';
import { capturedLog } from '../../../support/kube/captured-log.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

const never = new Promise<never>(() => undefined);

/** A process with these parts, for whose shutdown there are 40 s. */
function started(parts: Pick<ProcessOptions, 'lead' | 'background' | 'close'>) {
  const clock = new FakeClock();
  const { log, lines } = capturedLog();
  const stop = new AbortController();
  const ended = runProcess({
    stop: stop.signal,
    shutdown: { delayMs: 0, timeoutMs: 40_000 },
    clock,
    log,
    probes: undefined,
    webhooks: undefined,
    ...parts,
  });
  const late = () => lines.filter(({ msg }) => msg === 'shutdown step did not end in time');
  return { clock, stop, ended, late };
}

test('steps of a shutdown that all hang take its time together, and the drain leaves a reserve', async () => {
  const { clock, stop, ended, late } = started({
    lead: () => never,
    background: [() => never],
    close: () => never,
  });
  await clock.advanceAsync(60_000);
  stop.abort();
  await clock.advanceAsync(32_000);
  expect(late()).toMatchObject([{ step: 'drain', leftMs: 8_000 }]);
  await clock.advanceAsync(8_000);
  await ended;
  expect(late()).toMatchObject([{ step: 'drain' }, { step: 'background' }, { step: 'connections' }]);
  expect([clock.now(), clock.pendingTimers]).toEqual([100_000, 0]);
});
