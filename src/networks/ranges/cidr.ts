import ipaddr from 'ipaddr.js';

/** A range of addresses, IPv4 or IPv6, without host bits. */
export interface Range {
  readonly address: ipaddr.IPv4 | ipaddr.IPv6;
  readonly prefixLength: number;
}

/** Of IPv6, in canonical form. */
const LONGEST = 43;

/**
 * Parses a range in canonical form (RFC 5952 for IPv6), as the CRD's rules require.
 * Returns undefined for anything else: host bits, leading zeros, IPv4-mapped addresses, zones.
 */
export function parseRange(text: string): Range | undefined {
  if (text.length > LONGEST || !ipaddr.isValidCIDR(text)) return undefined;
  const [address, prefixLength] = ipaddr.parseCIDR(text);
  const range = { address: networkAddress(address, prefixLength), prefixLength };
  return formatRange(range) === text && isPlain(address) ? range : undefined;
}

/**
 * Parses a range or an address as other programs write them, also with host bits. An IPv4-mapped address becomes the
 * IPv4 address. Returns undefined for anything else.
 */
export function readRange(text: string): Range | undefined {
  const [plain = '', zone] = text.split('%');
  const isRange = ipaddr.isValidCIDR(plain);
  if (zone !== undefined || !(isRange || ipaddr.isValid(plain))) return undefined;
  const [address, prefixLength] = isRange ? ipaddr.parseCIDR(plain) : [ipaddr.process(plain), undefined];
  const length = prefixLength ?? bitsOf(address);
  return { address: networkAddress(address, length), prefixLength: length };
}

/** As {@link formatRange}, but without the prefix length of a single address. */
export function formatShort(range: Range): string {
  const isSingle = range.prefixLength === bitsOf(range.address);
  return isSingle ? formatAddress(range.address) : formatRange(range);
}

export function formatRange({ address, prefixLength }: Range): string {
  return `${formatAddress(address)}/${prefixLength}`;
}

/** Whether two ranges share an address. One of them then contains the other. */
export function overlaps(a: Range, b: Range): boolean {
  if (a.address.kind() !== b.address.kind()) return false;
  return a.address.match(b.address, Math.min(a.prefixLength, b.prefixLength));
}

export function holds(outer: Range, inner: Range): boolean {
  return outer.prefixLength <= inner.prefixLength && overlaps(outer, inner);
}

/** Why the address cannot be the gateway of the range, as the end of a sentence; undefined if it can. */
export function gatewayProblem(gateway: string, range: Range): string | undefined {
  if (!ipaddr.isValid(gateway)) return 'is not an IPv4 or IPv6 address';
  const address = ipaddr.parse(gateway);
  if (formatAddress(address) !== gateway || !isPlain(address)) return 'is not in canonical form';
  if (!overlaps(range, { address, prefixLength: bitsOf(address) }))
    return `is not inside ${formatRange(range)}`;
  const edge = edgeProblem(numberOf(address), range);
  return edge && `${edge} ${formatRange(range)}`;
}

/** Why nothing can have the address, which is in the range, as the end of a sentence; undefined if something can. */
export function edgeProblem(address: bigint, range: Range): string | undefined {
  const [first, last] = spanOf(range);
  if (address === first) return 'is the network address of';
  return range.address.kind() === 'ipv4' && address === last ? 'is the broadcast address of' : undefined;
}

/** The first and the last address of a range, as numbers. */
export function spanOf({ address, prefixLength }: Range): readonly [bigint, bigint] {
  const first = numberOf(address);
  return [first, first + 2n ** BigInt(bitsOf(address) - prefixLength) - 1n];
}

/** The number of bits of an address: 32 or 128. */
export function bitsOf(address: ipaddr.IPv4 | ipaddr.IPv6): 32 | 128 {
  return address.kind() === 'ipv4' ? 32 : 128;
}

/** The address as a number; {@link addressAt} is the inverse. */
export function numberOf(address: ipaddr.IPv4 | ipaddr.IPv6): bigint {
  return address.toByteArray().reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
}

export function addressAt(number: bigint, bits: 32 | 128): ipaddr.IPv4 | ipaddr.IPv6 {
  return ipaddr.fromByteArray(
    Array.from({ length: bits / 8 }, (_, i) => Number((number >> BigInt(bits - 8 - 8 * i)) & 255n)),
  );
}

function networkAddress(address: ipaddr.IPv4 | ipaddr.IPv6, prefixLength: number): ipaddr.IPv4 | ipaddr.IPv6 {
  const hostBits = BigInt(bitsOf(address) - prefixLength);
  return addressAt((numberOf(address) >> hostBits) << hostBits, bitsOf(address));
}

/** In canonical form (RFC 5952 for IPv6). */
export function formatAddress(address: ipaddr.IPv4 | ipaddr.IPv6): string {
  return address instanceof ipaddr.IPv6 ? address.toRFC5952String() : address.toString();
}

/** Whether the address is not IPv4-mapped and has no zone. */
function isPlain(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  return address instanceof ipaddr.IPv4 || !(address.isIPv4MappedAddress() || address.zoneId);
}
