import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { NAMESPACES, SECRETS, type Secret } from '../../../kube/api/core-resources.ts';
import type { ObjectKey } from '../../../kube/api/object.ts';
import { Informer } from '../../../kube/cache/informer.ts';
import { informerLog } from '../../../kube/cache/informer-log.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import { sleep } from '../../../kube/util/sleep.ts';
import type { Clock } from '../../../kube/workqueue/clock.ts';
import type { Network } from '../../api/types.ts';
import { neutronMetrics } from './metrics.ts';
import { NeutronProvider } from './neutron.ts';
import { NeutronConnection } from './neutron-connection.ts';
import { NeutronGarbageCollector } from './neutron-garbage-collector.ts';
import { NeutronStore } from './neutron-store.ts';

export interface NeutronDutyOptions {
  readonly client: KubeClient;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly log: Logger;
  /** The operator's own. */
  readonly namespace: string;
  readonly neutronSecret: string;
  /** Called before each request to OpenStack, with its signal: it throws where this process does not lead. */
  readonly mayRequest: (signal: AbortSignal) => void;
  /** The cache's; undefined where it has none. */
  readonly known: (key: ObjectKey) => Network | undefined;
  /** Told that it is another Neutron now, or that there is one at last: every Network is to be looked at. */
  readonly onChange: () => void;
}

/** The provider neutron, kept in step with its Secret. */
export interface NeutronDuty {
  readonly provider: NeutronProvider;
  /** Follows the Secret, on every replica, until the signal aborts. */
  watch(signal: AbortSignal): Promise<void>;
  /** Looks after Neutron until the signal aborts; the leader's part. */
  keep(signal: AbortSignal): Promise<void>;
}

const CHECK_PERIOD_MS = 30_000;

export function neutronDuty(options: NeutronDutyOptions): NeutronDuty {
  const { client, registry, clock, log, namespace, neutronSecret: name, known, onChange } = options;
  const secretName = `${namespace}/${name}`;
  const metrics = neutronMetrics(registry);
  const connection = new NeutronConnection({
    clock,
    secretName,
    metrics,
    mayRequest: options.mayRequest,
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
  const keeper = new NeutronGarbageCollector({ client, store, provider, clusterId, known, metrics, log });
  const secrets = new Informer<Secret>({
    client,
    clock,
    resource: SECRETS,
    namespace,
    fieldSelector: `metadata.name=${name}`,
    onError: informerLog(log, 'secrets'),
  });
  const update = () => connection.update(secrets.lister.get(secretName));
  secrets.addEventHandler({ onAdd: update, onUpdate: update, onDelete: update });

  return {
    provider,
    async watch(signal) {
      // What does not exist has no event: only that all is known says so. Rejects only when the signal aborts.
      const synced = secrets.waitForSync(signal).then(update, () => undefined);
      try {
        await Promise.all([secrets.run(signal), synced]);
      } finally {
        await connection.close();
      }
    },
    async keep(signal) {
      while (!signal.aborted) {
        try {
          if (connection.hasBeenConfigured) await keeper.check(signal);
        } catch (err) {
          if (!signal.aborted) log.error({ err }, 'cannot look after the networks in Neutron');
        }
        // Rejects when the signal aborts, which ends this.
        await sleep(clock, CHECK_PERIOD_MS, signal).catch(() => undefined);
      }
    },
  };
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
