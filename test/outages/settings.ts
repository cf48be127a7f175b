import type { OutageKind } from '../support/faults/fault.ts';

/** An outage to be played again and again. */
export interface OutageShape {
  readonly name: string;
  readonly kind: OutageKind;
  /** Connections that came meanwhile are answered in the end; the others are never answered. */
  readonly answersHeld: boolean;
}

const SHAPES: readonly OutageShape[] = [
  { name: 'refused', kind: 'refuse', answersHeld: false },
  { name: 'silent', kind: 'no-handshake', answersHeld: false },
  { name: 'half', kind: 'half', answersHeld: false },
  { name: 'stall', kind: 'half', answersHeld: true },
];

export interface Settings {
  readonly rounds: number;
  readonly seconds: readonly number[];
  readonly shapes: readonly OutageShape[];
}

/** @throws Error where a variable is wrong: it says which, and what to write. */
export function settingsFrom(env: NodeJS.ProcessEnv): Settings {
  const seconds = (env.OUTAGE_SECONDS ?? '9,11,13,14,16,20').split(',').map(Number);
  const rounds = Number(env.OUTAGE_ROUNDS ?? 10);
  if (!seconds.every((each) => each > 0)) {
    throw new Error(`OUTAGE_SECONDS: expected numbers with commas between them, got ${env.OUTAGE_SECONDS}`);
  }
  if (!(Number.isInteger(rounds) && rounds > 0)) {
    throw new Error(`OUTAGE_ROUNDS: expected a number above 0, got ${env.OUTAGE_ROUNDS}`);
  }
  const names = env.OUTAGE_KINDS?.split(',') ?? SHAPES.map(({ name }) => name);
  const shapes = names.map((name) => {
    const shape = SHAPES.find((each) => each.name === name);
    if (shape) return shape;
    throw new Error(
      `OUTAGE_KINDS: expected some of ${SHAPES.map((each) => each.name).join(',')}, got ${name}`,
    );
  });
  return { rounds, seconds, shapes };
}
