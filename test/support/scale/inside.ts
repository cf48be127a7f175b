import { openSync, readSync, renameSync, writeFileSync } from 'node:fs';
import { RunCounter } from './run-counter.ts';

// Imported by a process before its program (`node --import inside.ts?out=FILE[&runs]`). At each SIGUSR2 it writes into
// FILE what only the process itself knows: how late its event loop was since the last time, or with `runs` how often each
// function of its program ran since then.
const query = new URL(import.meta.url).searchParams;
const out = query.get('out') ?? '';
const counter = query.has('runs') ? new RunCounter() : undefined;
await counter?.start();

const TICK_MS = 2;
const PERCENTILE = 0.99;
/** How late each tick of the event loop was, in milliseconds: in all, and beside the time without a core. */
let [late, ownLate]: [number[], number[]] = [[], []];
const schedstat = openSync('/proc/thread-self/schedstat', 'r');
const text = Buffer.alloc(128);
/** For how long this thread could run and had no core, so far. */
const waitedMs = () =>
  Number(text.toString('latin1', 0, readSync(schedstat, text, 0, text.length, 0)).split(' ')[1]) / 1e6;

/** A tick that comes late stands for those that did not come meanwhile. */
function note(all: number[], lag: number): void {
  for (let left = lag; left > 0; left -= TICK_MS) all.push(left);
  if (lag === 0) all.push(0);
}

if (!counter) {
  let [due, waited] = [performance.now() + TICK_MS, waitedMs()];
  setInterval(() => {
    const [now, waitedNow] = [performance.now(), waitedMs()];
    const lag = Math.max(0, now - due);
    note(late, lag);
    note(ownLate, Math.max(0, lag - (waitedNow - waited)));
    [due, waited] = [now + TICK_MS, waitedNow];
  }, TICK_MS).unref();
}

const percentile = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * PERCENTILE)] ?? 0;

process.on('SIGUSR2', async () => {
  const runs = await counter?.since();
  const lag = {
    p99: percentile(late),
    ownP99: percentile(ownLate),
    ownMost: ownLate.reduce((most, each) => Math.max(most, each), 0),
  };
  [late, ownLate] = [[], []];
  writeFileSync(`${out}.part`, JSON.stringify({ runs, lag }));
  renameSync(`${out}.part`, out);
});
