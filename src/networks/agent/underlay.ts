import ipaddr from 'ipaddr.js';
import { LARGEST_MTU, SMALLEST_MTU, type Underlay } from '../nodes/node-report.ts';
import type { Device } from './links.ts';

/** Where the tunnels of the node begin. */
export interface UnderlayChoice {
  /** The device of `--underlay-device`. */
  readonly device: string | undefined;
  /** The node's address, if no device is chosen. */
  readonly address: string | undefined;
}

/** Bytes that VXLAN adds to a packet (RFC 7348 section 5). */
const OVERHEAD = { ipv4: 50, ipv6: 70 } as const;

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
    throw new Error('the address of this node is not known: set --node-address or --underlay-device');
  }
  const device = devices.find(({ addresses }) => addresses.some((one) => one.address === address));
  if (!device) throw new Error(`no device of this node has the address ${address}: set --underlay-device`);
  return { device, address };
}

/** The largest MTU of a Network whose packets fit into the underlay. */
export function largestMtu({ address, mtu }: Underlay): number {
  return mtu - OVERHEAD[ipaddr.parse(address).kind()];
}
