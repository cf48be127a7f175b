import { type KubeObject, keyOf, type ObjectKey } from '../../../kube/api/object.ts';
import type { Lister } from '../../../kube/cache/store.ts';
import { PORT_KEY } from '../../../networks/api/names.ts';
import type { Network } from '../../../networks/api/types.ts';
import type { PodPorts, Refusal } from '../../../networks/providers.ts';
import { type JsonObject, ownString } from '../../../util/json.ts';
import type { NeutronApi } from '../client.ts';
import { isUnavailable } from '../openstack/error.ts';
import { keptOf } from '../plan.ts';
import { NEUTRON_PORTS, type NeutronPort } from '../resources.ts';
import type { NeutronStore } from '../store.ts';
import { BORROWER, impossible, isOfAll, marksOf, optionsOf, podOf, portFor, refusalOf } from './port-plan.ts';

export interface NeutronPodPortsOptions {
  /** Returns the client. @throws NotConfiguredError without one. */
  readonly api: () => NeutronApi;
  readonly store: Pick<NeutronStore, 'refreshed' | 'known'>;
  /** Called with each port of a pod, so that it is removed with the pod. */
  readonly onPort: (port: NeutronPort) => void;
  readonly pods: { readonly lister: Pick<Lister<KubeObject>, 'get'> };
  /** Called with the key of a Network when Neutron begins or ends to refuse ports on it. */
  readonly onRefusal: (network: ObjectKey) => void;
}

/** The retry interval while Neutron is away, or its network is not known yet. */
const RETRY_MS = 10_000;

/**
 * Ports in Neutron for pods. Neutron chooses the addresses. The creating call writes the UID of the pod into the port,
 * and each attempt looks for it first. So an attempt without an answer leaves no second port.
 */
export class NeutronPodPorts implements PodPorts {
  readonly #options: NeutronPodPortsOptions;
  /** The last refusal on each Network that concerns all its pods. */
  readonly #refusals = new Map<ObjectKey, { readonly pod: KubeObject; readonly why: string }>();

  constructor(options: NeutronPodPortsOptions) {
    this.#options = options;
  }

  /** Why Neutron refuses ports for pods on the Network; undefined if it does not, or no such pod waits. */
  refusalOn(network: Network): string | undefined {
    const refusal = this.#refusals.get(keyOf(network));
    if (!refusal) return undefined;
    const { pod, why } = refusal;
    return this.#options.pods.lister.get(keyOf(pod))?.metadata.uid === pod.metadata.uid ? why : undefined;
  }

  async attach(
    pod: KubeObject,
    network: Network,
    asked: JsonObject,
    signal: AbortSignal,
  ): Promise<{ readonly options: JsonObject } | Refusal> {
    const key = keyOf(network);
    const problem = impossible(key, asked);
    if (problem) return problem;
    try {
      // After a failure, it rejects for some seconds: a dead Neutron gets no request for each pod.
      await this.#options.store.refreshed(signal);
      const found = keptOf(this.#options.store.known(network.metadata.uid ?? ''));
      if (!found) return waits(`Network ${key} does not exist in Neutron yet`);
      const port = await this.#portOf(pod, found.network.id, asked, signal);
      if ('why' in port) return port;
      this.#options.onPort(port);
      if (this.#refusals.delete(key)) this.#options.onRefusal(key);
      const options = optionsOf(port, found.subnets, asked);
      return options ? { options } : waits(`the subnet of port ${port.id} is not known yet`);
    } catch (error) {
      const refusal = refusalOf(error, key);
      if (refusal) {
        if (isOfAll(error)) this.#refused(key, pod, refusal.why);
        return refusal;
      }
      if (signal.aborted || !isUnavailable(error)) throw error;
      return { reason: 'ProviderUnavailable', why: error.message, retryAfterMs: RETRY_MS };
    }
  }

  #refused(network: ObjectKey, pod: KubeObject, why: string): void {
    const isNew = this.#refusals.get(network)?.why !== why;
    this.#refusals.set(network, { pod, why });
    if (isNew) this.#options.onRefusal(network);
  }

  async #portOf(
    pod: KubeObject,
    networkId: string,
    asked: JsonObject,
    signal: AbortSignal,
  ): Promise<NeutronPort | Refusal> {
    const { uid = '' } = pod.metadata;
    const api = this.#options.api();
    const filter = { device_id: uid, network_id: networkId };
    const found = (await api.list(NEUTRON_PORTS, filter, signal)).filter((port) => podOf(port)?.uid === uid);
    // Of two, each attempt takes the same one.
    const [present] = found.sort((a, b) => (a.id < b.id ? -1 : 1));
    if (present) return present;
    const wanted = ownString(asked, PORT_KEY);
    if (wanted === undefined) return api.create(NEUTRON_PORTS, portFor(pod, networkId, asked), signal);
    return this.#borrow(wanted, pod, networkId, signal);
  }

  /** Takes the port of a user, if no device uses it. */
  async #borrow(
    id: string,
    pod: KubeObject,
    networkId: string,
    signal: AbortSignal,
  ): Promise<NeutronPort | Refusal> {
    const api = this.#options.api();
    const [port] = await api.list(NEUTRON_PORTS, { id: [id], network_id: networkId }, signal);
    if (port?.id !== id || port.networkId !== networkId) {
      return waits(`port ${id} is not on this network in Neutron: name another`);
    }
    if (port.device !== '') return waits(`port ${id} is in use by ${port.owner} ${port.device}`);
    const marks = marksOf(pod, BORROWER);
    await api.update(NEUTRON_PORTS, port, marks, signal);
    return { ...port, device: marks.device_id, owner: BORROWER, description: marks.description };
  }
}

function waits(why: string): Refusal {
  return { reason: 'WaitsForNetwork', why, retryAfterMs: RETRY_MS };
}
