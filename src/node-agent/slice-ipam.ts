import { formatRange } from '../network/ipam/cidr.ts';
import { type Slice, sliceOf } from '../network/nodes/slices.ts';
import type { MeshNetwork } from '../network/providers/multus/cni-config.ts';

/** Where a node has its slices: one file for each bridge. Gone when it boots, with what it knew of its number. */
export const SLICES = 'run/envoy-initializer/slices';

/**
 * The plugin. host-local knows one range for all nodes, that of the configuration; this puts the node's own in its place, and
 * nothing else: what is to be released or checked host-local finds by the pod. Code 11 of the CNI specification: try
 * again later.
 */
export const SLICE_IPAM_SCRIPT = `#!/bin/sh
# CNI plugin: host-local, with the addresses that this node has of a Network. The node agent of envoy-initializer writes it.
set -eu
config=$(cat)
if [ "\${CNI_COMMAND:-}" = ADD ]; then
  bridge=$(printf '%s' "$config" | sed -n 's/.*"bridge":"\\(nw-[0-9a-f]*\\)".*/\\1/p')
  slices=/${SLICES}/$bridge
  if [ -z "$bridge" ] || [ ! -r "$slices" ]; then
    printf '{"cniVersion":"1.0.0","code":11,"msg":"this node has no addresses of the Network (yet): see what its node agent says"}'
    exit 1
  fi
  # A pod that chooses its address may choose one of those that no node gives out.
  case $config in
    *'"ips":["'*) ranges=$(sed -n 2p "$slices") ;;
    *) ranges=$(sed -n 1p "$slices") ;;
  esac
  config=$(printf '%s' "$config" | sed 's|"ranges":\\[\\[{[^]]*\\]\\]|"ranges":[['"$ranges"']]|')
fi
printf '%s' "$config" | "\${0%/*}/host-local"
`;

/**
 * What the plugin reads: the ranges for a pod that takes what it gets, and below for one that chooses, as host-local's
 * configuration has them. Undefined where the Network's range has no slice of the number.
 */
export function slicesText({ range, gateway }: MeshNetwork, number: number): string | undefined {
  const [chosen, slice] = [sliceOf(range, 0), sliceOf(range, number)];
  if (number === 0 || !chosen || !slice) return undefined;
  const subnet = formatRange(range);
  const entry = ({ first, last }: Slice) =>
    JSON.stringify({ subnet, rangeStart: first, rangeEnd: last, gateway });
  return `${entry(slice)}\n${entry(slice)},${entry(chosen)}\n`;
}
