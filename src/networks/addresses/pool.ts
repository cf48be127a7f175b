import ipaddr from 'ipaddr.js';
import { rangesOf, type Subnet } from '../api/subnet.ts';
import {
  addressAt,
  bitsOf,
  edgeProblem,
  formatAddress,
  numberOf,
  overlaps,
  parseRange,
  type Range,
  readRange,
  spanOf,
} from '../ranges/cidr.ts';

/** The operator gives only the first addresses of a large IPv6 range. Pods can have others by their own wish. */
const MAX_IPV6_SIZE = 2n ** 16n;

/** The first and the last of addresses, as numbers. */
type Span = readonly [bigint, bigint];

/** The pools of a Network. `exclude`: ranges that the operator does not give. */
export function poolsOf(subnet: Subnet, exclude: readonly string[] = []): readonly Pool[] {
  return rangesOf(subnet).flatMap(({ cidr, gateway }) => {
    const range = parseRange(cidr);
    return range ? new Pool(range, gateway, exclude) : [];
  });
}

/** The addresses of a range that pods can get, as numbers. */
export class Pool {
  /** The number of addresses for pods. */
  readonly total: number;
  readonly #range: Range;
  readonly #gateway: string;
  /** All of the range. */
  readonly #span: Span;
  /** Those that are not reserved or excluded, in order. */
  readonly #parts: readonly Span[];

  /** `exclude`: ranges that the operator does not give. */
  constructor(range: Range, gateway: string, exclude: readonly string[]) {
    const [first, last] = spanOf(range);
    const isFour = range.address.kind() === 'ipv4';
    this.#range = range;
    this.#gateway = gateway;
    this.#span = [first, last];
    const closed = [gateway, ...exclude].flatMap((text) => readRange(text) ?? []);
    const spans = closed.filter((one) => overlaps(one, range)).map(spanOf);
    const edges = isFour ? [first, last] : [first];
    const end = isFour || last < first + MAX_IPV6_SIZE ? last : first + MAX_IPV6_SIZE - 1n;
    this.#parts = partsBetween([...edges.map((edge) => [edge, edge] as const), ...spans], [first, end]);
    this.total = this.#parts.reduce((sum, [from, to]) => sum + Number(to - from) + 1, 0);
  }

  /** The address as a number; undefined outside of the range. A prefix length in the text does not matter. */
  placeOf(text: string): bigint | undefined {
    const [plain = ''] = text.split('/');
    const address = ipaddr.isValid(plain) ? ipaddr.process(plain) : undefined;
    if (!address || !overlaps(this.#range, { address, prefixLength: bitsOf(address) })) return undefined;
    return numberOf(address);
  }

  /** The address with the prefix length of the range, as CNI plugins expect it. */
  textOf(place: bigint): string {
    return `${this.plainOf(place)}/${this.#range.prefixLength}`;
  }

  plainOf(place: bigint): string {
    return formatAddress(addressAt(place, bitsOf(this.#range.address)));
  }

  /** The address as CNI plugins expect it: the prefix length of the range if the text has none. */
  withPrefix(text: string): string {
    return text.includes('/') ? text : `${text}/${this.#range.prefixLength}`;
  }

  /** Whether the operator gives the address, if it is free. */
  gives(place: bigint): boolean {
    return this.#parts.some(([from, to]) => from <= place && place <= to);
  }

  /** The first free address after this one, or from the start of the pool; undefined if all are taken. */
  next(after: bigint, isTaken: (place: bigint) => boolean): bigint | undefined {
    const [first, last] = this.#span;
    for (const [low, high] of [
      [after + 1n, last],
      [first, after],
    ] as const) {
      for (const [from, to] of this.#parts) {
        for (let place = from > low ? from : low; place <= to && place <= high; place++)
          if (!isTaken(place)) return place;
      }
    }
    return undefined;
  }

  /** Why no pod may have the address, as the end of a sentence; undefined if one may. */
  problemOf(place: bigint): string | undefined {
    if (place === this.placeOf(this.#gateway)) return 'is the gateway of';
    return edgeProblem(place, this.#range);
  }

  /** What is wrong with the text of an address of the range, as the end of a sentence. */
  spellingProblem(text: string): string | undefined {
    const { address, prefixLength } = this.#range;
    const [plain = '', prefix] = text.split('/');
    if (plain.includes(':') && address.kind() === 'ipv4') return 'must be in IPv4 notation on';
    if (prefix === undefined || Number(prefix) === prefixLength) return undefined;
    return `must end in /${prefixLength} on`;
  }
}

/** What is left of the whole between these spans. */
function partsBetween(spans: readonly Span[], [start, end]: Span): readonly Span[] {
  const parts: Span[] = [];
  let next = start;
  for (const [from, to] of spans.toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    if (from > end) break;
    if (from > next) parts.push([next, from - 1n]);
    if (to >= next) next = to + 1n;
  }
  if (next <= end) parts.push([next, end]);
  return parts;
}
