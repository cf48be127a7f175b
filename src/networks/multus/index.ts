import { keyOf } from '../../kube/api/object.ts';
import { waitForSync } from '../../kube/cache/wait-for-sync.ts';
import type { Manager } from '../../kube/manager/manager.ts';
import { hasFinalizer } from '../api/finalizer.ts';
import { NETWORK_FINALIZER } from '../api/names.ts';
import { NETWORK_ATTACHMENT_DEFINITIONS, type NetworkAttachmentDefinition } from '../api/resources.ts';
import type { ProviderContext, ProviderEntry, ProviderSetup } from '../providers/provider-setup.ts';
import { cachedAttachment } from './cached-attachment.ts';
import { MultusProvider } from './multus.ts';
import { VNI_INDEXERS } from './multus-vnis.ts';
import { MULTUS_REASONS, type MultusReason } from './reasons.ts';

type Context = Pick<
  ProviderContext,
  'networks' | 'enqueue' | 'usageOf' | 'defaultMtu' | 'isShared' | 'withoutMultus'
>;

export const multus = {
  name: 'multus',
  reasons: MULTUS_REASONS,
  networkIndexers: VNI_INDEXERS,

  setUp(manager: Pick<Manager, 'informer' | 'served' | 'leaderClient'>, context: Context) {
    const { networks, enqueue, usageOf, defaultMtu, isShared } = context;
    const served = manager.served(NETWORK_ATTACHMENT_DEFINITIONS);
    const attachments = manager.informer(NETWORK_ATTACHMENT_DEFINITIONS, {
      transform: cachedAttachment,
      startWhen: served.until,
    });
    const provider = new MultusProvider({
      client: manager.leaderClient,
      networks,
      attachments,
      usageOf,
      defaultMtu,
      isShared,
      obstacle: context.withoutMultus,
    });
    const isLeftBehind = (attachment: NetworkAttachmentDefinition) =>
      hasFinalizer(attachment, NETWORK_FINALIZER);
    // Definitions have the name of their Network, also foreign ones that block it.
    const changed = (attachment: NetworkAttachmentDefinition) => {
      const key = keyOf(attachment);
      provider.settle(key);
      if (networks.get(key) || isLeftBehind(attachment)) enqueue(key);
    };
    attachments.addEventHandler({
      onAdd: changed,
      onUpdate: (_, current) => changed(current),
      onDelete: changed,
    });
    return {
      provider,
      takesAddresses: (key) => provider.takesAddresses(key),
      leftBehind: () => attachments.lister.list().filter(isLeftBehind).map(keyOf),
      waitForSync: async (signal) =>
        (await served.known(signal)) === true && (await waitForSync([attachments], signal)),
    } satisfies ProviderSetup<MultusReason>;
  },
} as const satisfies ProviderEntry<MultusReason>;
