import { type Bound, isMet, type Measurement } from './measurement.ts';
import type { Summary } from './statistics.ts';

/** The measurements as a Markdown table. */
export function report(measurements: readonly Measurement[]): string {
  const header = ['what', 'ours', 'floor', 'ratio', 'bound', 'met'];
  const rows = measurements.map((one) => [
    one.name,
    `${spread(one.ours)} ${one.unit}`,
    one.floor ? `${spread(one.floor)} ${one.unit}` : '',
    one.ratio ? spread(one.ratio) : '',
    one.bound ? bounds(one.bound) : '',
    { true: 'yes', false: '**no**', undefined: '' }[String(isMet(one)) as 'true' | 'false' | 'undefined'],
  ]);
  return [header, header.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |\n`).join('');
}

/** `12.3 (11–14)`: the median, and between what the runs were; one figure where there was one run. */
function spread({ median, min, max }: Summary): string {
  return min === max ? digits(median) : `${digits(median)} (${digits(min)}–${digits(max)})`;
}

function bounds(bound: Bound): string {
  return 'least' in bound ? `≥ ${bound.least}` : `≤ ${bound.most}`;
}

/** Three digits that count. */
function digits(value: number): string {
  if (value === 0 || Math.abs(value) >= 100) return value.toFixed(0);
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
}
