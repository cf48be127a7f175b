import type { Round } from './round.ts';

/** A Network that is made when the server is back is Ready within this. */
const READY_BOUND_MS = 15_000;

/** What the rounds of one outage came to. */
export interface Row {
  readonly kind: string;
  readonly seconds: number;
  readonly rounds: readonly Round[];
}

/** Whether every Network was Ready in time, and no write came late. */
export function holds({ rounds }: Row): boolean {
  return rounds.every(
    ({ readyMs, pendingReadyMs, laterReadyMs, lateWrites }) =>
      Math.max(readyMs, pendingReadyMs, laterReadyMs) <= READY_BOUND_MS && lateWrites.length === 0,
  );
}

/** A Markdown table, and under it each late write. */
export function table(rows: readonly Row[]): string {
  const head = [
    'outage',
    'seconds',
    'rounds',
    'Ready: median',
    'max',
    'work of the outage: max',
    'work of later: max',
  ];
  const cells = [
    [...head, 'never', 'latest write', 'late writes', 'holds'],
    ...rows.map((row) => cellsOf(row)),
  ];
  const [first = [], ...rest] = cells;
  const lines = [first, first.map(() => '---'), ...rest].map((line) => `| ${line.join(' | ')} |`);
  const late = rows.flatMap(({ kind, seconds, rounds }) =>
    rounds.flatMap(({ lateWrites }) => lateWrites.map((write) => `late (${kind}, ${seconds} s): ${write}`)),
  );
  return `${[...lines, ...late].join('\n')}\n`;
}

function cellsOf(row: Row): readonly string[] {
  const { kind, seconds, rounds } = row;
  const ready = rounds.map(({ readyMs }) => readyMs).sort((a, b) => a - b);
  const all = rounds.flatMap(({ readyMs, pendingReadyMs, laterReadyMs }) => [
    readyMs,
    pendingReadyMs,
    laterReadyMs,
  ]);
  return [
    kind,
    `${seconds}`,
    `${rounds.length}`,
    inSeconds(ready[Math.floor(ready.length / 2)] ?? Number.NaN),
    inSeconds(Math.max(...ready)),
    inSeconds(Math.max(...rounds.map(({ pendingReadyMs }) => pendingReadyMs))),
    inSeconds(Math.max(...rounds.map(({ laterReadyMs }) => laterReadyMs))),
    `${all.filter((ms) => !Number.isFinite(ms)).length}`,
    inSeconds(Math.max(...rounds.map(({ latestWriteMs }) => latestWriteMs))),
    `${rounds.flatMap(({ lateWrites }) => lateWrites).length}`,
    holds(row) ? 'yes' : '**no**',
  ];
}

function inSeconds(ms: number): string {
  return Number.isFinite(ms) ? `${(ms / 1_000).toFixed(1)} s` : 'never';
}
