import type { NetworkChanges, NeutronApi, SubnetChanges, SubnetToCreate } from './neutron-api.ts';
import type { Found } from './neutron-found.ts';
import type { NeutronNetwork, NeutronSubnet } from './neutron-resources.ts';

/** One call. */
export type Action =
  | { readonly kind: 'createNetwork'; readonly create: NetworkChanges & { readonly description: string } }
  | { readonly kind: 'updateNetwork'; readonly network: NeutronNetwork; readonly changes: NetworkChanges }
  | { readonly kind: 'deleteNetwork'; readonly network: NeutronNetwork }
  | { readonly kind: 'addTag' | 'removeTag'; readonly network: NeutronNetwork; readonly tag: string }
  | { readonly kind: 'createSubnet'; readonly create: SubnetToCreate }
  | { readonly kind: 'updateSubnet'; readonly subnet: NeutronSubnet; readonly changes: SubnetChanges }
  | { readonly kind: 'deleteSubnet'; readonly subnet: NeutronSubnet }
  /** Nothing to be called: users must go first. */
  | { readonly kind: 'wait'; readonly message: string };

/** Does the call. Returns the network that it made, if it was to make one. */
export async function perform(
  api: NeutronApi,
  action: Action,
  signal: AbortSignal,
): Promise<Found | undefined> {
  switch (action.kind) {
    case 'createNetwork':
      return { network: await api.createNetwork(action.create, signal), subnets: [], ports: [] };
    case 'updateNetwork':
      await api.updateNetwork(action.network, action.changes, signal);
      return undefined;
    case 'deleteNetwork':
      await api.deleteNetwork(action.network, signal);
      return undefined;
    case 'addTag':
      await api.addTag(action.network.id, action.tag, signal);
      return undefined;
    case 'removeTag':
      await api.removeTag(action.network.id, action.tag, signal);
      return undefined;
    case 'createSubnet':
      await api.createSubnet(action.create, signal);
      return undefined;
    case 'updateSubnet':
      await api.updateSubnet(action.subnet, action.changes, signal);
      return undefined;
    case 'deleteSubnet':
      await api.deleteSubnet(action.subnet, signal);
      return undefined;
    case 'wait':
      return undefined;
  }
}
