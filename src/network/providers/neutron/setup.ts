import { NAMESPACES, SECRETS } from '../../../kube/api/core-resources.ts';
import type { ObjectKey } from '../../../kube/api/object.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import type { Manager } from '../../../kube/manager/manager.ts';
import { aborted } from '../../../kube/util/linked-abort.ts';
import type { Task } from '../../../kube/util/together.ts';
import type { Network } from '../../api/types.ts';
import type { Provider } from '../provider.ts';
import { neutronMetrics } from './metrics.ts';
import { NeutronProvider } from './neutron.ts';
import { NeutronConnection } from './neutron-connection.ts';
import { NeutronGarbageCollector } from './neutron-garbage-collector.ts';
import { NeutronStore } from './neutron-store.ts';

export interface NeutronSetupOptions {
  /** The operator's own. */
  readonly namespace: string;
  readonly neutronSecret: string;
  /** Resolves when the leader knows all Networks. */
  readonly after: Task;
  /** The cache's; undefined where it has none. */
  readonly known: (key: ObjectKey) => Network | undefined;
  /** Told that it is another Neutron now, or that there is one at last: every Network is to be looked at. */
  readonly onChange: () => void;
}

const CHECK_PERIOD_MS = 30_000;

/** The provider neutron, kept in step with its Secret on every replica; the leader looks after Neutron. */
export function setUpNeutron(manager: Manager, options: NeutronSetupOptions): Provider {
  const { client, registry, clock, log } = manager;
  const { namespace, neutronSecret: name, known, onChange } = options;
  const secretName = `${namespace}/${name}`;
  const metrics = neutronMetrics(registry);
  const connection = new NeutronConnection({
    clock,
    secretName,
    metrics,
    mayRequest: manager.assertLeading,
    onChange(problem) {
      store.reset();
      if (problem === undefined) log.info({ secret: secretName }, 'credentials of OpenStack read');
      else log.info({ secret: secretName, reason: problem }, 'provider neutron is not set up');
      onChange();
    },
  });
  const api = () => connection.api();
  const store = new NeutronStore({ api, clock });
  const clusterId = clusterIdOf(client);
  const provider = new NeutronProvider({ api, store, clusterId });
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
    after: options.after,
    everyMs: CHECK_PERIOD_MS,
    failed: (err) => log.error({ err }, 'cannot look after the networks in Neutron'),
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
