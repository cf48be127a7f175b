import { keyOf } from '../../../kube/api/object.ts';
import { Informer } from '../../../kube/cache/informer.ts';
import { informerLog } from '../../../kube/cache/informer-log.ts';
import { hasFinalizer } from '../../api/finalizer.ts';
import { NETWORK_FINALIZER } from '../../api/names.ts';
import { NETWORK_ATTACHMENT_DEFINITIONS, type NetworkAttachmentDefinition } from '../../api/resources.ts';
import type { ProviderContext, ProviderEntry, ProviderSetup } from '../provider-setup.ts';
import { cachedAttachment } from './cached-attachment.ts';
import { MultusProvider } from './multus.ts';
import { VNI_INDEXERS } from './multus-vnis.ts';
import { MULTUS_REASONS, type MultusReason } from './reasons.ts';

type Context = Pick<
  ProviderContext,
  'client' | 'leaderClient' | 'clock' | 'log' | 'networks' | 'enqueue' | 'usageOf' | 'reach'
>;

export const multus = {
  name: 'multus',
  reasons: MULTUS_REASONS,
  networkIndexers: VNI_INDEXERS,

  setUp({ client, leaderClient, clock, log, networks, enqueue, usageOf, reach }: Context) {
    const attachments = new Informer<NetworkAttachmentDefinition>({
      client,
      clock,
      resource: NETWORK_ATTACHMENT_DEFINITIONS,
      transform: cachedAttachment,
      onError: informerLog(log, NETWORK_ATTACHMENT_DEFINITIONS.plural),
    });
    const provider = new MultusProvider({ client: leaderClient, networks, attachments, usageOf, reach });
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
      leftBehind: () => attachments.lister.list().filter(isLeftBehind).map(keyOf),
      watch: (signal) => attachments.run(signal),
      waitForSync: (signal) => attachments.waitForSync(signal).catch(() => undefined),
    } satisfies ProviderSetup<MultusReason>;
  },
} as const satisfies ProviderEntry<MultusReason>;
