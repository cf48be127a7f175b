import {
  LARGEST_MTU,
  LONGEST_DEFAULT,
  MAX_REPORTED_RANGES,
  SMALLEST_MTU,
  type Underlay,
} from '../nodes/node-report.ts';
import { bitsOf, formatRange, type Range, readRange } from '../ranges/cidr.ts';
import { type ClusterRange, overlapText } from '../ranges/cluster-ranges.ts';
import { RangeTree } from '../ranges/range-tree.ts';
import type { NodeNetwork } from './desired.ts';
import { type Device, entries, isOurs } from './links.ts';

/** Where the tunnels of the node begin. */
export interface UnderlayChoice {
  /** The device of `--underlay-device`. */
  readonly device: string | undefined;
  /** The node's address, if no device is chosen. */
  readonly address: string | undefined;
}

/**
 * The address and MTU of the underlay.
 * @throws Error if the node lacks the device or the address, or its packets are too small.
 */
export function underlayOf(devices: readonly Device[], choice: UnderlayChoice): Underlay {
  const { device, address } = deviceOf(devices, choice);
  if (device.mtu < SMALLEST_MTU) {
    throw new Error(`the MTU of ${device.name} is ${device.mtu}: Networks need at least ${SMALLEST_MTU}`);
  }
  return { address, mtu: Math.min(device.mtu, LARGEST_MTU) };
}

function deviceOf(devices: readonly Device[], { device: name, address }: UnderlayChoice) {
  if (name !== undefined) {
    const device = devices.find((one) => one.name === name);
    const [first] = device?.addresses ?? [];
    if (device && first) return { device, address: first.address };
    const why = device ? 'has no address' : 'does not exist';
    throw new Error(`the device ${name} of --underlay-device ${why} on this node`);
  }
  if (address === undefined) {
    throw new Error("this node's address is not known: set --node-address or --underlay-device");
  }
  const device = devices.find(({ addresses }) => addresses.some((one) => one.address === address));
  if (!device) throw new Error(`no device on this node has the address ${address}: set --underlay-device`);
  return { device, address };
}

/** Every node has these. */
const EVERYWHERE = ['linkLocal', 'loopback', 'multicast', 'unspecified', 'broadcast'];

/**
 * Reads the output of `ip -json route show`, without default routes and the operator's own.
 * @throws SyntaxError if it is not JSON.
 */
export function parseRoutes(output: string): readonly ClusterRange[] {
  return entries(output).flatMap(({ dst, dev }) => {
    const range = readRange(String(dst));
    if (!range || range.prefixLength <= LONGEST_DEFAULT || isOurs(String(dev))) return [];
    return [{ range, of: dev === undefined ? 'a route on this node' : `this node's route via ${dev}` }];
  });
}

/** Finds the range of the node that a Network overlaps, as a sentence; undefined if there is none. */
export function conflictFinder(
  ranges: readonly ClusterRange[],
): (network: Pick<NodeNetwork, 'ranges'>) => string | undefined {
  const tree = new RangeTree<ClusterRange>();
  for (const one of ranges) tree.add(one.range, one);
  return ({ ranges: own }) => {
    for (const { range } of own) {
      const [met] = tree.overlapping(range);
      if (met) return overlapText(formatRange(range), met);
    }
    return undefined;
  };
}

/**
 * The ranges of the report, without those inside others. Single addresses are left out: a node can have one for each
 * pod or Service, and each would be a write. If there are too many, the smallest ranges are left out.
 */
export function reportedRanges(
  routes: readonly ClusterRange[],
  devices: readonly Device[],
): readonly string[] {
  const links = devices.flatMap(({ addresses }) =>
    addresses.flatMap(({ address, prefixLength }) => readRange(`${address}/${prefixLength}`) ?? []),
  );
  const widest = [...routes.map(({ range }) => range), ...links]
    .filter(
      ({ address, prefixLength }) =>
        prefixLength > LONGEST_DEFAULT &&
        prefixLength < bitsOf(address) &&
        !EVERYWHERE.includes(address.range()),
    )
    .toSorted((a, b) => a.prefixLength - b.prefixLength || (formatRange(a) < formatRange(b) ? -1 : 1));
  const tree = new RangeTree<Range>();
  const kept: Range[] = [];
  for (const range of widest) {
    if (kept.length === MAX_REPORTED_RANGES) break;
    // All that overlap are as wide or wider.
    if (!tree.overlapping(range).next().done) continue;
    tree.add(range, range);
    kept.push(range);
  }
  return kept.map(formatRange).toSorted();
}
