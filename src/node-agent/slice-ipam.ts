import { formatRange } from '../network/ipam/cidr.ts';
import { type Slice, sliceOf } from '../network/nodes/slices.ts';
import type { MeshNetwork } from '../network/providers/multus/cni-config.ts';

/** Where a node has its slices: one file for each bridge. A reboot deletes them, so that no old number survives. */
export const SLICES = 'run/envoy-initializer/slices';

/**
 * The plugin. The configuration has one range for all nodes. For ADD the plugin replaces it with the node's own
 * ranges. Then it calls host-local, which finds the addresses to release or check by the pod. Code 11 of the CNI
 * specification means: try again later.
 */
export const SLICE_IPAM_SCRIPT = `#!/bin/sh
# CNI plugin: host-local, limited to the addresses of this node. Written by the node agent of envoy-initializer.
set -eu
config=$(cat)
if [ "\${CNI_COMMAND:-}" = ADD ]; then
  bridge=$(printf '%s' "$config" | sed -n 's/.*"bridge":"\\(nw-[0-9a-f]*\\)".*/\\1/p')
  slices=/${SLICES}/$bridge
  if [ -z "$bridge" ] || [ ! -r "$slices" ]; then
    printf '{"cniVersion":"1.0.0","code":11,"msg":"this node has no addresses of the Network yet: see the log of its node agent"}'
    exit 1
  fi
  # A pod that chooses its address may also use the slice that no node gives out.
  case $config in
    *'"ips":["'*) ranges=$(sed -n 2p "$slices") ;;
    *) ranges=$(sed -n 1p "$slices") ;;
  esac
  config=$(printf '%s' "$config" | sed 's|"ranges":\\[\\[{[^]]*\\]\\]|"ranges":[['"$ranges"']]|')
fi
printf '%s' "$config" | "\${0%/*}/host-local"
`;

/**
 * Returns the file that the plugin reads, in the format of host-local: the ranges for a pod that takes any address,
 * and on the second line those for a pod that chooses one. Undefined if the Network's range has no slice with this
 * number.
 */
export function slicesText({ range, gateway }: MeshNetwork, number: number): string | undefined {
  const [chosen, slice] = [sliceOf(range, 0), sliceOf(range, number)];
  if (number === 0 || !chosen || !slice) return undefined;
  const subnet = formatRange(range);
  const entry = ({ first, last }: Slice) =>
    JSON.stringify({ subnet, rangeStart: first, rangeEnd: last, gateway });
  return `${entry(slice)}\n${entry(slice)},${entry(chosen)}\n`;
}
