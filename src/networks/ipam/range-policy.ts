import { bitsOf, formatRange, holds, type Range } from './cidr.ts';

/** The ranges that Networks may have. */
export interface RangePolicy {
  /** A Network's range must be inside one of these. */
  readonly allowed: readonly Range[];
  /** The shortest prefix lengths, which limit the size of a Network. */
  readonly largest: { readonly ipv4: number; readonly ipv6: number };
}

/** Why the policy does not allow the range, and what to write instead; undefined if it does. */
export function policyProblem(range: Range, { allowed, largest }: RangePolicy): string | undefined {
  const text = formatRange(range);
  const shortest = bitsOf(range.address) === 32 ? largest.ipv4 : largest.ipv6;
  if (!allowed.some((one) => holds(one, range))) {
    const list = allowed.map(formatRange).join(', ');
    return `${text} is not inside ${list} (--network-ranges): write a range inside one of these`;
  }
  if (range.prefixLength < shortest) {
    return `${text} is larger than --network-largest allows: use a /${shortest} or smaller`;
  }
  return undefined;
}
