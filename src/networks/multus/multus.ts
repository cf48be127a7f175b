import { keyOf } from '../../kube/api/object.ts';
import type { Lister } from '../../kube/cache/store.ts';
import { informerIfServed } from '../../kube/manager/if-served.ts';
import type { Manager } from '../../kube/manager/manager.ts';
import { poolsOf } from '../addresses/pool.ts';
import { NETWORK_FINALIZER } from '../api/names.ts';
import {
  hasFinalizer,
  NETWORK_ATTACHMENT_DEFINITIONS,
  type NetworkAttachmentDefinition,
} from '../api/resources.ts';
import type { Network } from '../api/types.ts';
import type { NetworkNodes } from '../nodes/network-nodes.ts';
import type { NetworkAccess } from '../pods/network-access.ts';
import type { Provider, ProviderContext } from '../providers.ts';
import { attachmentWith, cachedAttachment, isMadeFor } from './attachment.ts';
import { Attachments, type AttachmentsOptions, bridgeConflict, nowhere } from './attachments.ts';
import { bridgeName, cniConfig } from './cni-config.ts';
import { Vnis } from './vnis.ts';

export interface MultusOptions
  extends AttachmentsOptions,
    Pick<ProviderContext, 'usageOf'>,
    Pick<Provider, 'waitForSync'> {
  /** With MULTUS_INDEXERS. */
  readonly networks: Pick<Lister<Network>, 'byIndex'>;
  readonly nodes: Pick<NetworkNodes, 'mtu' | 'withoutMultus'>;
  readonly access: Pick<NetworkAccess, 'isShared'>;
}

export type MultusProvider = Provider & { readonly attachments: Attachments };

/**
 * Realises a Network as a NetworkAttachmentDefinition of the same name. Multus attaches pods to it with the CNI
 * plugin bridge, which supports all that the CRD's rules allow, and node agents connect the bridges. Users may edit
 * definitions, so only the status shows the subnet.
 */
export function multusProvider(options: MultusOptions): MultusProvider {
  const { usageOf, nodes, access, waitForSync } = options;
  const vnis = new Vnis(options.networks);
  const attachments = new Attachments(options);
  return {
    ...{ name: 'multus', attachesPods: true, isRemote: false, takesAddresses: true },
    attachments,
    defaultMtu: () => nodes.mtu(),
    ...(waitForSync && { waitForSync }),
    leftBehind: () => options.attachments.lister.list().filter(isLeftBehind).map(keyOf),
    async usage(network) {
      const found = attachments.copies.get(keyOf(network));
      // Ignore pods attached to a definition that was never the operator's.
      const isForeign = network.status?.cidr === undefined && found && !isMadeFor(found, network);
      return isForeign ? { pods: [], allocated: 0 } : usageOf(network);
    },
    async ensure(network, subnet, signal) {
      const key = keyOf(network);
      const rival = options.networks
        .byIndex('bridge', bridgeName(key))
        .find((each) => !isOlder(network, each));
      if (rival) return bridgeConflict(rival);
      const vni = vnis.vniFor(network);
      const wanted = attachmentWith(network, cniConfig(key, subnet.mtu, access.isShared(key)));
      const change = await attachments.ensure(network, wanted, signal);
      if (typeof change === 'object') return change;
      const obstacle = nodes.withoutMultus();
      if (obstacle !== undefined) return nowhere(obstacle);
      // A pod has an address of each pool.
      const capacities = poolsOf(subnet, network.spec.exclude).map(({ total }) => total);
      return { kind: 'ready', change, capacity: Math.min(...capacities), vni };
    },
    remove: (network, { retain }, signal) => attachments.remove(network, retain, signal),
    async release(key, signal) {
      vnis.release(key);
      await attachments.release(key, signal);
    },
  };
}

export function setUpMultus(
  manager: Pick<Manager, 'informer' | 'served' | 'leaderClient'>,
  context: Pick<ProviderContext, 'networks' | 'enqueue' | 'usageOf'> &
    Pick<MultusOptions, 'nodes' | 'access'>,
): MultusProvider {
  const { networks, enqueue } = context;
  const { informer, known } = informerIfServed(manager, NETWORK_ATTACHMENT_DEFINITIONS, {
    transform: cachedAttachment,
  });
  const provider = multusProvider({
    ...context,
    ...{ client: manager.leaderClient, attachments: informer, waitForSync: known },
  });
  // Definitions have the name of their Network, also foreign ones that block it.
  const changed = (attachment: NetworkAttachmentDefinition) => {
    const key = keyOf(attachment);
    provider.attachments.copies.settle(key);
    if (networks.get(key) || isLeftBehind(attachment)) enqueue(key);
  };
  informer.addEventHandler({
    onAdd: changed,
    onUpdate: (_, current) => changed(current),
    onDelete: changed,
  });
  return provider;
}

/** Whether the Network comes before the other, or is the same one. Of two of the same second, neither does. */
function isOlder(network: Network, other: Network): boolean {
  const createdAt = ({ metadata }: Network) => metadata.creationTimestamp ?? '';
  return keyOf(network) === keyOf(other) || createdAt(network) < createdAt(other);
}

function isLeftBehind(attachment: NetworkAttachmentDefinition): boolean {
  return hasFinalizer(attachment, NETWORK_FINALIZER);
}
