/**
 * The time in the format of meta/v1 MicroTime: RFC 3339 with six digits of fraction. The server refuses the three
 * digits of `Date.toISOString()`.
 * @throws RangeError on an invalid date.
 */
export function microTime(date: Date): string {
  return date.toISOString().replace('Z', '000Z');
}
