import ipaddr from 'ipaddr.js';
import type { Underlay } from '../network/nodes/node-report.ts';
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
 * @throws Error if the node lacks the device or the address.
 */
export function underlayOf(devices: readonly Device[], { device, address }: UnderlayChoice): Underlay {
  if (device !== undefined) {
    const found = devices.find(({ name }) => name === device);
    const [first] = found?.addresses ?? [];
    if (found && first) return { address: first.address, mtu: found.mtu };
    throw new Error(
      `the device ${device} of --underlay-device ${found ? 'has no address' : 'does not exist'} on this node`,
    );
  }
  const found = devices.find(({ addresses }) => addresses.some((one) => one.address === address));
  if (found && address !== undefined) return { address, mtu: found.mtu };
  throw new Error(
    address === undefined
      ? 'the address of this node is not known: set --node-address or --underlay-device'
      : `no device of this node has the address ${address}: set --underlay-device`,
  );
}

/** The largest MTU of a Network whose packets fit into the underlay. */
export function largestMtu({ address, mtu }: Underlay): number {
  return mtu - OVERHEAD[ipaddr.parse(address).kind()];
}
