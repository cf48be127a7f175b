/**
 * A time as meta/v1 MicroTime is written: RFC 3339 with six digits of fraction. The server refuses the three that
 * `Date.toISOString()` gives.
 * @throws RangeError on an invalid date.
 */
export function microTime(date: Date): string {
  return date.toISOString().replace('Z', '000Z');
}
