import { appendFile, readFile } from 'node:fs/promises';
import { figure, type Measurement } from './measurement.ts';

/** One recorded benchmark: a line of the history file. Figures of other machines are not comparable. */
export interface HistoryEntry {
  readonly date: string;
  readonly commit: string;
  readonly machine: string;
  readonly node: string;
  /** Ratios where there is a floor, else the value. */
  readonly figures: Readonly<Record<string, number>>;
}

export interface Change {
  readonly was: number;
  readonly is: number;
}

/** A change of less than this is noise. */
const NOTABLE = 0.1;

export async function readHistory(file: string): Promise<readonly HistoryEntry[]> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as HistoryEntry);
}

export async function record(
  file: string,
  entry: Omit<HistoryEntry, 'figures'>,
  measurements: readonly Measurement[],
): Promise<void> {
  const figures = Object.fromEntries(
    measurements.map((one) => [one.name, Number(figure(one).toPrecision(4))]),
  );
  await appendFile(file, `${JSON.stringify({ ...entry, figures } satisfies HistoryEntry)}\n`);
}

/** Each measurement against what was last recorded of it on the same machine. */
export function changesSince(
  history: readonly HistoryEntry[],
  machine: string,
  measurements: readonly Measurement[],
): ReadonlyMap<string, Change> {
  const changes = new Map<string, Change>();
  for (const one of measurements) {
    const last = history.findLast((entry) => entry.machine === machine && one.name in entry.figures);
    const was = last?.figures[one.name];
    if (was !== undefined) changes.set(one.name, { was, is: figure(one) });
  }
  return changes;
}

/** `0.81 (−12 %)`, with the percentage only where it is no noise. */
export function changed(change: Change | undefined): string {
  if (!change) return '';
  const was = String(Number(change.was.toPrecision(3)));
  if (change.was === change.is) return was;
  if (change.was === 0) return `${was} (new)`;
  const by = change.is / change.was - 1;
  const percent = `${by > 0 ? '+' : '−'}${Math.abs(by * 100).toFixed(0)} %`;
  return Math.abs(by) >= NOTABLE ? `${was} (${percent})` : was;
}
