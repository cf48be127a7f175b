import { ifFound } from '../../../kube/api/api-error.ts';
import { PODS } from '../../../kube/api/core-resources.ts';
import { type KubeObject, type ObjectKey, splitKey } from '../../../kube/api/object.ts';
import { decodeObject, type Resource } from '../../../kube/api/resource.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import type { Reconcile } from '../../../kube/controller/controller.ts';
import type { Logger } from '../../../kube/util/log.ts';
import { MULTUS_NETWORKS } from '../../../networks/api/names.ts';
import { own } from '../../../util/json.ts';
import type { NeutronApi } from '../client.ts';
import { isGone, isStaleRevision, isUnavailable } from '../openstack/error.ts';
import { NEUTRON_PORTS, type NeutronPort } from '../resources.ts';
import type { NeutronStore } from '../store.ts';
import { BORROWER, podOf } from './port-plan.ts';

export interface PortGarbageCollectorOptions {
  readonly client: Pick<KubeClient, 'get'>;
  /** Returns the client. @throws NotConfiguredError without one. */
  readonly api: () => NeutronApi;
  readonly store: Pick<NeutronStore, 'owned'>;
  readonly clusterId: (signal: AbortSignal) => Promise<string>;
  /** Whether the cache has a live pod with this UID. */
  readonly isLive: (key: ObjectKey, uid: string) => boolean;
  /** Queues the pod for `reconcile`. */
  readonly enqueue: (pod: ObjectKey) => void;
  readonly log: Logger;
}

interface LivePod extends KubeObject {
  readonly isFinished: boolean;
}

const LIVE: Resource<LivePod> = {
  ...PODS,
  decode(value) {
    const { metadata } = decodeObject(value);
    const phase = own(own(value, 'status'), 'phase');
    return { metadata, isFinished: phase === 'Succeeded' || phase === 'Failed' };
  },
};
const RETRY_MS = 10_000;

/**
 * Removes ports of the operator whose pods are gone, and surplus ports of a pod. It learns of ports when they are made,
 * and from the lists of the store, so it also finds those of a former leader.
 */
export class PortGarbageCollector {
  readonly #options: PortGarbageCollectorOptions;
  /** The ports of each pod, by their IDs. */
  readonly #ports = new Map<ObjectKey, Map<string, NeutronPort>>();
  /** IDs of removed ports that the lists may still have. */
  readonly #removed = new Set<string>();

  constructor(options: PortGarbageCollectorOptions) {
    this.#options = options;
  }

  learn(port: NeutronPort): void {
    const pod = podOf(port);
    if (!pod) return;
    this.#removed.delete(port.id);
    const known = this.#ports.get(pod.key) ?? new Map<string, NeutronPort>();
    this.#ports.set(pod.key, known.set(port.id, port));
    if (this.#isSuspect(pod.key)) this.#options.enqueue(pod.key);
  }

  has(pod: ObjectKey): boolean {
    return this.#ports.has(pod);
  }

  async sweep(signal: AbortSignal): Promise<void> {
    const { store, clusterId } = this.#options;
    const cluster = await clusterId(signal);
    const listed = new Set<string>();
    for (const { owner, found } of store.owned()) {
      if (owner.cluster !== cluster) continue;
      for (const port of found.ports) {
        listed.add(port.id);
        if (!this.#removed.has(port.id)) this.learn(port);
      }
    }
    for (const id of this.#removed) if (!listed.has(id)) this.#removed.delete(id);
  }

  readonly reconcile: Reconcile = async (key, signal) => {
    const known = [...(this.#ports.get(key)?.values() ?? [])];
    if (known.length === 0) return {};
    const live = await this.#live(key, signal);
    for (const port of known) {
      if (isUsed(port, live, known)) continue;
      try {
        await this.#remove(port, signal);
        this.#removed.add(port.id);
      } catch (error) {
        // The sweep finds it again.
        if (!isStaleRevision(error)) {
          if (signal.aborted || !isUnavailable(error)) throw error;
          return { requeueAfterMs: RETRY_MS };
        }
      }
      const ports = this.#ports.get(key);
      if (ports?.delete(port.id) && ports.size === 0) this.#ports.delete(key);
    }
    return {};
  };

  #isSuspect(key: ObjectKey): boolean {
    const ports = [...(this.#ports.get(key)?.values() ?? [])];
    const networks = new Set(ports.map(({ networkId }) => networkId));
    return networks.size < ports.length || !ports.every(({ device }) => this.#options.isLive(key, device));
  }

  /** The pod from the API server, because a cache may be outdated. */
  async #live(key: ObjectKey, signal: AbortSignal): Promise<LivePod | undefined> {
    const { namespace = '', name } = splitKey(key);
    const pod = await ifFound(this.#options.client.get(LIVE, { namespace, name }, { signal }));
    return pod?.isFinished ? undefined : pod;
  }

  async #remove(port: NeutronPort, signal: AbortSignal): Promise<void> {
    const { api, log } = this.#options;
    const { id, name, networkId } = port;
    if (port.owner === BORROWER) {
      // Its revision changes whenever OVN reports on it, and the user may have given it to another device.
      const [current] = await api().list(NEUTRON_PORTS, { id: [id] }, signal);
      if (current?.id !== id || current.device !== port.device) return;
      const free = { device_id: '', device_owner: '', description: '' };
      await api().update(NEUTRON_PORTS, current, free, signal).catch(ignoreIfGone);
      log.info({ port: id, networkId, pod: name }, 'released a port that a user provided');
      return;
    }
    await api().delete(NEUTRON_PORTS, { id }, signal);
    log.info({ port: id, networkId, pod: name }, 'removed the port of a pod');
  }
}

/** Whether the pod uses the port. Of several on one network, only the one in its annotation counts, once it has one. */
function isUsed(port: NeutronPort, pod: LivePod | undefined, ports: readonly NeutronPort[]): boolean {
  if (!pod || pod.metadata.uid !== port.device) return false;
  const others = ports.filter(
    ({ id, networkId, device }) => id !== port.id && networkId === port.networkId && device === port.device,
  );
  const text = pod.metadata.annotations?.[MULTUS_NETWORKS] ?? '';
  return text.includes(port.id) || !others.some(({ id }) => text.includes(id));
}

function ignoreIfGone(error: unknown): void {
  if (!isGone(error)) throw error;
}
