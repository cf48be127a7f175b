import { rangesOf, recordedSubnet, type Subnet, sameSubnet, subnetOf } from '../../networks/api/subnet.ts';
import type { Network } from '../../networks/api/types.ts';
import type { Realised, Usage } from '../../networks/providers.ts';
import type { Action, Found } from './plan.ts';
import { poolCapacity } from './ports.ts';

/** The result for a network that matches the spec after these calls. */
export function realised(
  network: Network,
  { network: real, subnets }: Found,
  shape: Subnet,
  done: readonly Action[],
): Realised {
  const change = done.length === 0 ? 'none' : changeOf(network, done);
  const capacities = rangesOf(shape).map(({ cidr }) =>
    poolCapacity(subnets.filter((subnet) => subnet.cidr === cidr).flatMap(({ pools }) => pools)),
  );
  return { kind: 'ready', change, capacity: Math.min(...capacities), externalID: real.id };
}

/** The addresses in use and in the pools, of the family with fewer free ones: a pod has one of each. */
export function addressUse(found: readonly Found[]): Required<Pick<Usage, 'allocated' | 'total'>> {
  const subnets = found.flatMap((each) => each.subnets);
  const addresses = found.flatMap(({ ports }) => ports.flatMap((port) => port.addresses));
  const uses = [true, false].map((isSix) => ({
    allocated: addresses.filter(({ address }) => address.includes(':') === isSix).length,
    total: poolCapacity(
      subnets.filter(({ cidr }) => cidr.includes(':') === isSix).flatMap(({ pools }) => pools),
    ),
  }));
  const [scarcer] = uses
    .filter(({ total }) => total > 0)
    .sort((a, b) => a.total - a.allocated - (b.total - b.allocated));
  return scarcer ?? { allocated: addresses.length, total: 0 };
}

/** Whether the calls applied the spec, or undid a change of another client. */
function changeOf(network: Network, done: readonly Action[]): Realised['change'] {
  const recorded = recordedSubnet(network);
  if (!recorded) return 'created';
  if (done.some(({ kind }) => kind === 'createNetwork')) return 'restored';
  return sameSubnet(recorded, subnetOf(network.spec)) ? 'restored' : 'updated';
}
