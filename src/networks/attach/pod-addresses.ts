import type { Operation } from 'fast-json-patch';
import { LIVE_PODS } from '../../kube/api/core-resources.ts';
import type { ObjectKey } from '../../kube/api/object.ts';
import type { Lister } from '../../kube/cache/store.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { JsonObject } from '../../util/json.ts';
import { pointer } from '../../util/patch.ts';
import type { IpamState } from '../addresses/ipam-state.ts';
import { MULTUS_NETWORKS } from '../api/names.ts';
import type { Network } from '../api/types.ts';
import type { ProviderRegistry } from '../controller/provider-registry.ts';
import type { NetworkAccess } from '../pods/network-access.ts';
import { isRelevant, type NetworkPod, networkPods } from '../pods/network-pods.ts';
import { ipsOf, isNetworkKey, keyOfSelected, parseSelection, withOptions } from '../pods/selection.ts';
import type { Refusal } from '../providers.ts';

export interface PodAddressesOptions {
  readonly client: Pick<KubeClient, 'list'>;
  readonly ipam: IpamState;
  readonly networks: Pick<Lister<Network>, 'get'>;
  readonly providers: Pick<ProviderRegistry, 'maker'>;
  readonly access: NetworkAccess;
  /** The Networks whose range is about to change: the status shows the old one. */
  readonly changing: ReadonlySet<ObjectKey>;
}

/**
 * The longest time of a write that gives addresses: a former leader's write must have failed when the next leader
 * reads the pods. Less than the lease's duration minus the time in which it is renewed.
 */
export const WRITE_TIMEOUT_MS = 4_000;

/** Gives pods their addresses and ports, in Multus' annotation. */
export class PodAddresses {
  readonly #options: PodAddressesOptions;
  /** Whether the pods of the API server are in the ipam, in this term. */
  #known: Promise<void> | undefined;

  constructor(options: PodAddressesOptions) {
    this.#options = options;
  }

  /** From now on, another replica may give addresses: the end of a term. */
  forget(): void {
    this.#known = undefined;
  }

  /** Whether pods on the Network need an address or a port. */
  serves(network: ObjectKey): boolean {
    const { ipam, networks, providers } = this.#options;
    return ipam.of(network) !== undefined || providers.maker(networks.get(network))?.ports !== undefined;
  }

  /** Returns the annotation with the addresses and ports of the pod, or why it must wait. */
  async fill(
    pod: NetworkPod,
    text: string,
    signal: AbortSignal,
  ): Promise<{ readonly text: string } | Refusal> {
    const { ipam, networks, providers, access, changing } = this.#options;
    const { namespace = '' } = pod.metadata;
    const selection = parseSelection(text, namespace);
    if ('problem' in selection) return { text };
    const named = selection.networks
      .map((selected, index) => ({ index, network: keyOfSelected(selected), element: selected.element }))
      .filter(({ network }) => isNetworkKey(network) && access.allows(namespace, network));
    const moving = named.find(({ network }) => changing.has(network))?.network;
    const why = `the range of Network ${moving} is about to change`;
    if (moving !== undefined) return { reason: 'WaitsForNetwork', why, retryAfterMs: 1_000 };
    const options = new Map<number, JsonObject>();
    const requests = named
      .filter(({ network }) => ipam.of(network) !== undefined)
      .map(({ index, network, element }) => ({ index, network, ips: ipsOf(element) }));
    if (requests.length > 0) {
      await this.#listOnce(signal);
      const taken = ipam.allocate(pod, requests);
      if ('why' in taken) return taken;
      for (const [place, { index, ips }] of taken.entries())
        if (ips.join() !== requests[place]?.ips.join()) options.set(index, { ips });
    }
    const seen = new Set<ObjectKey>();
    for (const { index, network: key, element } of named) {
      const network = networks.get(key);
      const ports = providers.maker(network)?.ports;
      if (!network || !ports) continue;
      if (seen.has(key)) {
        const why = `the pod names Network ${key} twice, and gets one port on it: name it once`;
        return { reason: 'InvalidNetworkAnnotation', why };
      }
      seen.add(key);
      const result = await ports.attach(pod, network, element, signal);
      if ('why' in result) return result;
      options.set(index, result.options);
    }
    return { text: withOptions(selection, options) };
  }

  /** Reads from the API server what the cache may not have yet, once in a term. */
  async #listOnce(signal: AbortSignal): Promise<void> {
    const known = this.#known ?? this.#list(signal);
    this.#known = known;
    try {
      await known;
    } catch (error) {
      // Not that of a later term: a second list in a term would free addresses that have just been given.
      if (this.#known === known) this.#known = undefined;
      throw error;
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { client, access, ipam } = this.#options;
    const resource = networkPods(access);
    const read = (item: unknown) => [resource.decode(item)].filter(isRelevant);
    const { items } = await client.list(resource, { fieldSelector: LIVE_PODS, signal }, read);
    ipam.listed(items.flat());
  }
}

/** The operations that replace the annotation of the pod, if it still has the text `from`. */
export function annotationPatch(from: string, to: string): readonly Operation[] {
  const path = pointer(['metadata', 'annotations', MULTUS_NETWORKS]);
  if (from === to) return [];
  return [
    { op: 'test', path, value: from },
    { op: 'replace', path, value: to },
  ];
}
