import { EventEmitter, once } from 'node:events';
import { pino } from 'pino';
import { type KubeObject, keyOf } from '../../../src/kube/api/object.ts';
import type { Resource } from '../../../src/kube/api/resource.ts';
import { SharedInformers, type WatchSelection } from '../../../src/kube/cache/shared-informers.ts';
import { KubeClient } from '../../../src/kube/client/client.ts';
import { Discovery } from '../../../src/kube/client/discovery.ts';
import { loadKubeConfig } from '../../../src/kube/client/kubeconfig/load-config.ts';
import { Transport } from '../../../src/kube/client/transport.ts';
import { Controller } from '../../../src/kube/controller/controller.ts';
import type { EventDetails } from '../../../src/kube/events/events.ts';
import { USER_AGENT } from '../../../src/kube/util/version.ts';
import { systemClock } from '../../../src/kube/workqueue/clock.ts';
import { WorkQueue } from '../../../src/kube/workqueue/queue.ts';
import { exponentialLimiter } from '../../../src/kube/workqueue/rate-limiters.ts';
import { cachedNetwork, NETWORKS } from '../../../src/networks/api/resources.ts';
import type { Network } from '../../../src/networks/api/types.ts';
import { ProviderRegistry } from '../../../src/networks/controller/provider-registry.ts';
import { setUpMultus } from '../../../src/networks/multus/multus.ts';
import { VNI_INDEXERS } from '../../../src/networks/multus/vnis.ts';
import type { Usage } from '../../../src/networks/providers.ts';
import { setUpNetworkController } from '../../../src/networks/setup.ts';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';

/** The Network controller at work, as `serve` wires it, with its Events kept in a list. */
export interface NetworkOperator {
  readonly client: KubeClient;
  /** Resolves once every key was reconciled at least once more. */
  reconciledAgain(keys: readonly string[]): Promise<void>;
  /** Reasons of the Events on the object, oldest first. */
  reasonsFor(key: string): readonly string[];
  stop(): Promise<void>;
}

export interface NetworkOperatorOptions {
  readonly resyncMs?: number;
  readonly usageOf?: (network: Network) => Usage;
}

export async function startNetworkOperator(
  controlPlane: Pick<ControlPlane, 'kubeconfigPath'>,
  { resyncMs = 30_000, usageOf }: NetworkOperatorOptions = {},
): Promise<NetworkOperator> {
  const clock = systemClock;
  const config = loadKubeConfig({ kubeconfig: controlPlane.kubeconfigPath, master: undefined });
  const transport = new Transport(config, clock, USER_AGENT);
  const client = new KubeClient({ transport, clock });
  const informers = new SharedInformers({ client, clock, onError: () => () => {} });
  const networks = informers.informer(NETWORKS, { transform: cachedNetwork, indexers: VNI_INDEXERS });
  const queue = new WorkQueue<string>({ clock, limiter: exponentialLimiter(5, 1_000) });
  const notices: { readonly key: string; readonly notice: EventDetails }[] = [];
  const reconciled = new EventEmitter().setMaxListeners(0);
  const log = pino({ level: 'silent' });
  const discovery = new Discovery({ client, clock, log });
  const manager = {
    leaderClient: client,
    served: (resource: Resource<KubeObject>) => discovery.follow(resource),
    informer: <T extends KubeObject>(resource: Resource<T>, selection?: WatchSelection<T>) =>
      informers.informer(resource, selection),
  };
  const provider = setUpMultus(manager, {
    networks: networks.lister,
    enqueue: (key) => queue.add(key),
    usageOf: usageOf ?? (() => ({ pods: [] })),
    defaultMtu: () => 1450,
    isShared: () => false,
    withoutMultus: () => undefined,
  });
  const { reconcile } = setUpNetworkController({
    client,
    networks,
    queue,
    events: { event: (regarding, notice) => notices.push({ key: keyOf(regarding), notice }) },
    clock,
    resyncMs,
    providers: new ProviderRegistry('multus', [provider]),
  });
  const controller = new Controller({
    name: 'network',
    queue,
    reconcile: async (key, signal) => {
      const result = await reconcile(key, signal);
      reconciled.emit(key);
      return result;
    },
    workers: 2,
    log,
    clock,
  });
  const stopping = new AbortController();
  const { signal } = stopping;
  const watching = Promise.all([informers.run(signal), discovery.run(signal)]);
  await networks.waitForSync(signal);
  const running = controller.run(signal);
  return {
    client,
    reconciledAgain: async (keys) => {
      await Promise.all(keys.map((key) => once(reconciled, key)));
    },
    reasonsFor: (key) => notices.filter((entry) => entry.key === key).map(({ notice }) => notice.reason),
    stop: async () => {
      stopping.abort();
      await Promise.all([running, watching]);
      await transport.close();
    },
  };
}
