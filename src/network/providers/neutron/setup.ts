import { NAMESPACES, SECRETS } from '../../../kube/api/core-resources.ts';
import type { ObjectKey } from '../../../kube/api/object.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import type { Manager } from '../../../kube/manager/manager.ts';
import { aborted } from '../../../kube/util/linked-abort.ts';
import type { ProviderContext } from '../provider-setup.ts';
import { neutronMetrics } from './metrics.ts';
import { NeutronProvider } from './neutron.ts';
import { NeutronConnection } from './neutron-connection.ts';
import { NeutronGarbageCollector } from './neutron-garbage-collector.ts';
import { NeutronStore } from './neutron-store.ts';

const CHECK_PERIOD_MS = 30_000;

/** The provider neutron, kept in step with its Secret on every replica; the leader looks after Neutron. */
export function setUpNeutron(
  manager: Manager,
  { namespace, neutronSecret: name, networks, enqueueAll, after }: ProviderContext,
): NeutronProvider {
  const { client, registry, clock, log } = manager;
  const secretName = `${namespace}/${name}`;
  const metrics = neutronMetrics(registry);
  const connection = new NeutronConnection({
    clock,
    secretName,
    metrics,
    guard: manager.assertLeading,
    onChange(problem) {
      store.reset();
      if (problem === undefined) log.info({ secret: secretName }, 'credentials of OpenStack read');
      // Without a Secret, most clusters do not use OpenStack: a Network of the provider says it in its status.
      else if (connection.hasBeenConfigured)
        log.warn({ secret: secretName, reason: problem }, 'provider neutron is not set up');
      enqueueAll();
    },
  });
  const api = () => connection.api();
  const store = new NeutronStore({ api, clock });
  const clusterId = clusterIdOf(client);
  const provider = new NeutronProvider({ api, store, clusterId });
  const known = (key: ObjectKey) => networks.get(key);
  const garbage = new NeutronGarbageCollector({ client, store, provider, clusterId, known, metrics, log });
  const secrets = manager.informer(SECRETS, { namespace, fieldSelector: `metadata.name=${name}` });
  const update = () => connection.update(secrets.lister.get(secretName));
  secrets.addEventHandler({ onAdd: update, onUpdate: update, onDelete: update });
  manager.everyReplica('neutron', async (signal) => {
    try {
      // What does not exist has no event: only that all is known says so. Rejects only when the signal aborts.
      await secrets.waitForSync(signal).then(update, () => undefined);
      await aborted(signal);
    } finally {
      await connection.close();
    }
  });
  const check = async (signal: AbortSignal) => {
    if (connection.hasBeenConfigured) await garbage.check(signal);
  };
  manager.singleton('neutron', check, {
    after,
    everyMs: CHECK_PERIOD_MS,
    failed: (err) => log.error({ err }, 'cannot clean up networks in Neutron'),
  });
  return provider;
}

/** The UID of kube-system: as good as a cluster's ID, since that namespace lives as long as the cluster. */
function clusterIdOf(client: KubeClient): (signal: AbortSignal) => Promise<string> {
  let known: string | undefined;
  return async (signal) => {
    known ??= (await client.get(NAMESPACES, { name: 'kube-system' }, { signal })).metadata.uid;
    if (known === undefined) throw new Error('expected the namespace kube-system to have a UID');
    return known;
  };
}
