import ipaddr from 'ipaddr.js';
import { type GatewayRange, rangesOf, type Subnet } from '../api/subnet.ts';
import {
  addressAt,
  bitsOf,
  formatAddress,
  numberOf,
  overlaps,
  parseRange,
  type Range,
  readRange,
} from '../ranges/cidr.ts';

/** An address in a pool: its distance from the start of the range, or its text if the pool does not give it. */
export type Place = number | string;

/** The operator gives only the first addresses of a large IPv6 range. Pods can have others by their own wish. */
const MAX_IPV6_SIZE = 2 ** 16;

/** The pools of a Network. `exclude`: ranges that the operator does not give. */
export function poolsOf(subnet: Subnet, exclude: readonly string[] = []): readonly Pool[] {
  return rangesOf(subnet).flatMap((range) => Pool.of(range, exclude) ?? []);
}

/** How many pods can have an address of each pool. */
export function capacityOf(pools: readonly Pool[]): number {
  return Math.min(...pools.map(({ total }) => total));
}

/** The addresses of a range that pods can get. */
export class Pool {
  /** The number of addresses for pods. */
  readonly total: number;
  readonly #range: Range;
  readonly #gateway: string;
  readonly #start: bigint;
  readonly #size: number;
  /** First and last of each part that is not reserved or excluded, in order. */
  readonly #parts: readonly (readonly [number, number])[];

  /** Undefined for an invalid range. `exclude`: ranges that the operator does not give. */
  static of({ cidr, gateway }: GatewayRange, exclude: readonly string[] = []): Pool | undefined {
    const range = parseRange(cidr);
    return range && new Pool(range, gateway, exclude);
  }

  private constructor(range: Range, gateway: string, exclude: readonly string[]) {
    const { address, prefixLength } = range;
    const isFour = address.kind() === 'ipv4';
    const size = 2 ** (bitsOf(address) - prefixLength);
    this.#range = range;
    this.#gateway = gateway;
    this.#start = numberOf(address);
    this.#size = isFour ? size : Math.min(size, MAX_IPV6_SIZE);
    const edges: (readonly [number, number])[] = isFour
      ? [
          [0, 0],
          [size - 1, size - 1],
        ]
      : [[0, 0]];
    const closed = [gateway, ...exclude].flatMap((text) => this.#spanOf(text));
    this.#parts = partsBetween([...edges, ...closed], this.#size);
    this.total = this.#parts.reduce((sum, [from, to]) => sum + to - from + 1, 0);
  }

  /** Where the address is; undefined outside of the range. A prefix length in the text does not matter. */
  placeOf(text: string): Place | undefined {
    const address = readAddress(text);
    if (!address || !this.#holds(address)) return undefined;
    const offset = numberOf(address) - this.#start;
    return offset < this.#size ? Number(offset) : formatAddress(address);
  }

  /** The address with the prefix length of the range, as CNI plugins expect it. */
  textOf(place: number): string {
    const address = addressAt(this.#start + BigInt(place), bitsOf(this.#range.address));
    return `${formatAddress(address)}/${this.#range.prefixLength}`;
  }

  /** The address as CNI plugins expect it: the prefix length of the range if the text has none. */
  withPrefix(text: string): string {
    return text.includes('/') ? text : `${text}/${this.#range.prefixLength}`;
  }

  /** Whether the operator gives the address, if it is free. */
  gives(place: Place): boolean {
    return typeof place === 'number' && this.#parts.some(([from, to]) => from <= place && place <= to);
  }

  /** The first free place after this one, or from the start of the pool; undefined if all are taken. */
  next(after: number, isTaken: (place: number) => boolean): number | undefined {
    for (const [low, high] of [
      [after + 1, this.#size - 1],
      [0, after],
    ] as const) {
      for (const [from, to] of this.#parts) {
        const end = Math.min(to, high);
        for (let place = Math.max(from, low); place <= end; place++) if (!isTaken(place)) return place;
      }
    }
    return undefined;
  }

  /** Why no pod may have the address of this place, as the end of a sentence; undefined if one may. */
  problemOf(place: Place): string | undefined {
    if (place === this.placeOf(this.#gateway)) return 'is its gateway';
    if (place === 0) return 'is its network address';
    const isLast = this.#range.address.kind() === 'ipv4' && place === this.#size - 1;
    return isLast ? 'is its broadcast address' : undefined;
  }

  /** What is wrong with the text of an address of the range, as the end of a sentence. */
  spellingProblem(text: string): string | undefined {
    const { address, prefixLength } = this.#range;
    const [plain = '', prefix] = text.split('/');
    if (plain.includes(':') && address.kind() === 'ipv4') return 'is not in IPv4 notation';
    if (prefix === undefined || Number(prefix) === prefixLength) return undefined;
    return `has a different prefix length from its range, /${prefixLength}`;
  }

  #holds(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
    return overlaps(this.#range, { address, prefixLength: bitsOf(address) });
  }

  /** The part of the pool in the range; none outside of it. */
  #spanOf(text: string): readonly (readonly [number, number])[] {
    const range = readRange(text);
    if (!range || !overlaps(range, this.#range)) return [];
    const from = numberOf(range.address) - this.#start;
    const to = from + 2n ** BigInt(bitsOf(range.address) - range.prefixLength) - 1n;
    const inPool = (offset: bigint) => (offset < 0n ? 0 : offset > this.#size ? this.#size : Number(offset));
    return [[inPool(from), inPool(to)]];
  }
}

/** What is left of a pool of this size between these spans. */
function partsBetween(
  spans: readonly (readonly [number, number])[],
  size: number,
): readonly (readonly [number, number])[] {
  const parts: (readonly [number, number])[] = [];
  let start = 0;
  for (const [from, to] of [...spans, [size, size] as const].sort(([a], [b]) => a - b)) {
    if (from > start) parts.push([start, from - 1]);
    start = Math.max(start, to + 1);
  }
  return parts;
}

/** Reads an address as pods and Multus write it, with or without a prefix length. */
function readAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  const [plain = ''] = text.split('/');
  return ipaddr.isValid(plain) ? ipaddr.process(plain) : undefined;
}
