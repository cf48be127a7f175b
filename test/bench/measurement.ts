import type { Summary } from './statistics.ts';

/** A bound of the design: `least` for what should be high, `most` for what should be low. */
export type Bound = { readonly least: number } | { readonly most: number };

/** One line of the table. */
export interface Measurement {
  readonly name: string;
  /** `req/s`, `ms`, `s`, `MB`, `writes`, `ns`. */
  readonly unit: string;
  readonly ours: Summary;
  /** The floor that was measured beside it, in the same unit. */
  readonly floor?: Summary;
  /** Ours by the floor, run by run. */
  readonly ratio?: Summary;
  /** Of the ratio where there is one, else of the value. */
  readonly bound?: Bound;
}

/** What the bound is about. */
function figure({ ratio, ours }: Measurement): number {
  return (ratio ?? ours).median;
}

/** Undefined where there is no bound. */
export function isMet(measurement: Measurement): boolean | undefined {
  const { bound } = measurement;
  if (!bound) return undefined;
  return 'least' in bound ? figure(measurement) >= bound.least : figure(measurement) <= bound.most;
}
