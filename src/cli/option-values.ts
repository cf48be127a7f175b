import { InvalidArgumentError } from 'commander';
import { parseRange, type Range } from '../network/ipam/cidr.ts';
import type { RangePolicy } from '../network/ipam/range-policy.ts';
import { isDnsLabel } from '../podspec/names.ts';

export function text(value: string): string {
  if (value === '') throw new InvalidArgumentError('The value must not be empty.');
  return value;
}

export function url(value: string): string {
  const { protocol } = URL.parse(value) ?? {};
  if (protocol !== 'https:' && protocol !== 'http:') {
    throw new InvalidArgumentError('Write a URL such as https://127.0.0.1:6443.');
  }
  return value;
}

/** A DNS subdomain (RFC 1123), such as the name of an object or a webhook. */
export function dnsName(value: string): string {
  if (!/^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(value)) {
    throw new InvalidArgumentError(
      "Write lower-case letters, digits, '-' and '.', such as envoy-initializer.",
    );
  }
  return value;
}

/** Names of namespaces, or `*` for all of them. */
export function namespaceList(value: string): readonly string[] {
  const names = value.split(',').map((name) => name.trim());
  if (value === '') return [];
  if (!names.every((name) => name === '*' || isDnsLabel(name))) {
    throw new InvalidArgumentError("Write a comma-separated list of namespaces, or '*'.");
  }
  return names;
}

export function networkRanges(value: string): readonly Range[] {
  const ranges = value.split(',').map((text) => parseRange(text.trim()));
  if (!ranges.every((range) => range !== undefined)) {
    throw new InvalidArgumentError('Write comma-separated ranges such as 10.0.0.0/8,fc00::/7.');
  }
  return ranges;
}

export function largestNetworks(value: string): RangePolicy['largest'] {
  const [, ipv4, ipv6] = /^(\d{1,2}),(\d{1,3})$/.exec(value) ?? [];
  const [four, six] = [Number(ipv4), Number(ipv6)];
  if (!(four <= 30 && six <= 126)) {
    throw new InvalidArgumentError('Write two prefix lengths, for IPv4 and for IPv6, such as 16,48.');
  }
  return { ipv4: four, ipv6: six };
}

export function rangeList(value: string): readonly string[] {
  const ranges = value.split(',').map((range) => range.trim());
  if (value === '') return [];
  if (!ranges.every(parseRange)) {
    throw new InvalidArgumentError('Write comma-separated ranges such as 10.244.0.0/16,fd00::/108.');
  }
  return ranges;
}

/** A label or annotation key: an optional DNS prefix and a name of at most 63 characters. */
export function qualifiedName(value: string): string {
  if (
    !/^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/.test(value)
  ) {
    throw new InvalidArgumentError('Write a label key such as initializer.kubernetes.io/envoy.');
  }
  return value;
}

export function bool(value: string): boolean {
  if (value !== 'true' && value !== 'false') throw new InvalidArgumentError('Write true or false.');
  return value === 'true';
}

export function port(value: string): number {
  const parsed = Number(value);
  if (!/^\d+$/.test(value) || parsed > 65535) throw new InvalidArgumentError('Write a port from 0 to 65535.');
  return parsed;
}

export function count(value: string): number {
  const parsed = Number(value);
  if (!/^\d+$/.test(value) || parsed < 1 || parsed > 1000)
    throw new InvalidArgumentError('Write a number from 1 to 1000.');
  return parsed;
}

const UNIT_MS: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
]);
/** The longest time of a Node.js timer, about 25 days. */
const LONGEST_MS = 2 ** 31 - 1;

/** Parses a duration in Go's format (`30s`, `1h30m`); returns milliseconds. */
export function duration(value: string): number {
  const parts = [...value.matchAll(/(\d+)(ms|s|m|h)/g)];
  const total = parts.reduce((sum, [, n, unit = '']) => sum + Number(n) * (UNIT_MS.get(unit) ?? 0), 0);
  if (parts.map(([part]) => part).join('') !== value || value === '' || total > LONGEST_MS) {
    throw new InvalidArgumentError('Write a duration such as 30s, 5m or 1h30m.');
  }
  return total;
}

export function oneOf<const C extends readonly string[]>(...choices: C): (value: string) => C[number] {
  return (value) => {
    const choice = choices.find((c) => c === value);
    if (choice === undefined) throw new InvalidArgumentError(`Write ${choices.join(' or ')}.`);
    return choice;
  };
}
