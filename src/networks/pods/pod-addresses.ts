import type { Operation } from 'fast-json-patch';
import { isNotFound } from '../../kube/api/api-error.ts';
import { LIVE_PODS } from '../../kube/api/core-resources.ts';
import type { KubeObject, ObjectKey } from '../../kube/api/object.ts';
import type { Resource } from '../../kube/api/resource.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { type JsonObject, own } from '../../util/json.ts';
import { IPAM_CLAIMS, type IpamClaim, isAllowed } from '../addresses/ipam-claims.ts';
import { claimHolder, type IpamState } from '../addresses/ipam-state.ts';
import {
  type AddressRequest,
  claimOf,
  type Refusal,
  withAddresses,
  withOptions,
} from '../addresses/request.ts';
import { FIELD_MANAGER, MULTUS_NETWORKS } from '../api/names.ts';
import type { Network } from '../api/types.ts';
import type { PodPorts, PortRefusal } from '../providers.ts';
import type { NetworkAccess } from './network-access.ts';
import { isRelevant, type NetworkPod, networkPods } from './network-pods.ts';
import { isNetworkKey, keptIps, keyOfSelected, parseSelection, type Selected } from './selection.ts';

export interface PodAddressesOptions {
  readonly client: Pick<KubeClient, 'list' | 'mergePatch'>;
  readonly ipam: IpamState;
  readonly access: NetworkAccess;
}

/**
 * The longest time of a write that gives addresses: a former leader's write must have failed when the next leader
 * reads the pods. Less than the lease's duration minus the time in which it is renewed.
 */
export const WRITE_TIMEOUT_MS = 4_000;
const PAGE = 500;

/** Gives pods their addresses, in Multus' annotation. */
export class PodAddresses {
  readonly #options: PodAddressesOptions;
  /** Whether the pods and claims of the API server are in the ipam, in this term. */
  #known: Promise<void> | undefined;

  constructor(options: PodAddressesOptions) {
    this.#options = options;
  }

  /** Another replica may have given addresses until now. */
  startTerm(): void {
    this.#known = undefined;
  }

  /** Returns the annotation with the addresses of the pod, or why it must wait. */
  async fill(
    pod: NetworkPod,
    text: string,
    signal: AbortSignal,
  ): Promise<{ readonly text: string } | Refusal> {
    const { namespace = '' } = pod.metadata;
    const selection = parseSelection(text, namespace);
    if ('problem' in selection) return { text };
    const given = selection.networks.flatMap((selected, index) => {
      const network = keyOfSelected(selected);
      return this.#gives(namespace, network) ? [{ index, network, selected }] : [];
    });
    if (given.length === 0) return { text };
    await this.#listOnce(signal);
    const requests: AddressRequest[] = [];
    for (const { index, network, selected } of given) {
      const ips = await this.#ipsFor(pod, network, selected, signal);
      if ('why' in ips) return ips;
      requests.push({ index, network, ...ips });
    }
    const taken = this.#options.ipam.allocate(pod, requests);
    if ('why' in taken) return taken;
    const isNew = ([index, ips]: readonly [number, readonly string[]]) =>
      ips.join() !== keptIps(own(selection.networks[index]?.element, 'ips')).join();
    return { text: withAddresses(selection, new Map([...taken].filter(isNew))) };
  }

  #gives(namespace: string, network: ObjectKey): boolean {
    const { access, ipam } = this.#options;
    return isNetworkKey(network) && access.allows(namespace, network) && ipam.of(network) !== undefined;
  }

  async #ipsFor(
    pod: NetworkPod,
    network: ObjectKey,
    { element }: Selected,
    signal: AbortSignal,
  ): Promise<Pick<AddressRequest, 'ips' | 'sharedWith'> | Refusal> {
    const name = claimOf(element);
    const ips = keptIps(own(element, 'ips'));
    if (name === undefined) return { ips };
    return this.#claim(`${pod.metadata.namespace}/${name}`, pod, network, signal);
  }

  async #claim(
    key: ObjectKey,
    pod: NetworkPod,
    network: ObjectKey,
    signal: AbortSignal,
  ): Promise<Pick<AddressRequest, 'ips' | 'sharedWith'> | Refusal> {
    const { ipam } = this.#options;
    const claim = ipam.claim(key);
    const waits = (why: string): Refusal => ({ reason: 'WaitsForNetwork', why });
    if (!claim) return waits(`IPAMClaim ${key} does not exist`);
    if (claim.network !== network) {
      const why = `IPAMClaim ${key} is for Network ${claim.network}, not ${network}: refer to another claim`;
      return { reason: 'InvalidNetworkAnnotation', why };
    }
    const ips = ipam.allocateFor(claim);
    if ('why' in ips) return ips;
    const sharedWith = claimHolder(claim).id;
    const user = ips
      .flatMap((ip) => ipam.of(network)?.holdersOf(ip) ?? [])
      .find(({ id }) => id !== pod.metadata.uid && id !== sharedWith);
    if (user) return waits(`IPAMClaim ${key} is in use by ${user.name}`);
    if (claim.ips.length === 0 || claim.ownerPod !== pod.metadata.name) {
      ipam.claimed(await this.#write(claim, ips, pod, signal));
    }
    // The prefix length of the range may have changed since.
    return { ips: ips.map((ip) => ip.replace(/\/.*/, '')), sharedWith };
  }

  /** With the version, the patch fails if the claim has changed since. */
  #write(claim: IpamClaim, ips: readonly string[], pod: NetworkPod, signal: AbortSignal): Promise<IpamClaim> {
    const { name, namespace, uid, resourceVersion } = claim.metadata;
    const patch = {
      metadata: { uid, resourceVersion },
      status: { ips, ownerPod: { name: pod.metadata.name } },
    };
    const options = {
      subresource: 'status',
      fieldManager: FIELD_MANAGER,
      timeoutMs: WRITE_TIMEOUT_MS,
      signal,
    };
    return this.#options.client.mergePatch(IPAM_CLAIMS, { name, namespace }, patch, options);
  }

  /** Reads from the API server what the caches may not have yet, once in a term. */
  async #listOnce(signal: AbortSignal): Promise<void> {
    const known = this.#known ?? this.#list(signal);
    this.#known = known;
    try {
      await known;
    } catch (error) {
      if (this.#known === known) this.#known = undefined;
      throw error;
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { access, ipam } = this.#options;
    const pods = await this.#all(networkPods(access), LIVE_PODS, isRelevant, signal);
    const isWanted = (claim: IpamClaim) => claim.ips.length > 0 && isAllowed(claim, access);
    const claims = await this.#all(IPAM_CLAIMS, undefined, isWanted, signal).catch((error: unknown) => {
      // The CRD is not installed.
      if (isNotFound(error)) return [];
      throw error;
    });
    ipam.listed(pods, claims);
  }

  async #all<T extends KubeObject>(
    resource: Resource<T>,
    fieldSelector: string | undefined,
    isWanted: (object: T) => boolean,
    signal: AbortSignal,
  ): Promise<readonly T[]> {
    const found: T[] = [];
    const read = (item: unknown) => {
      const object = resource.decode(item);
      if (isWanted(object)) found.push(object);
    };
    let next: string | undefined;
    do {
      const options = { fieldSelector, limit: PAGE, continue: next, signal };
      const page = await this.#options.client.list(resource, options, read);
      next = page.continue;
    } while (next);
    return found;
  }
}

/** The operations that replace the annotation of the pod, if it still has the text `from`. */
export function annotationPatch(from: string, to: string): readonly Operation[] {
  const path = `/metadata/annotations/${MULTUS_NETWORKS.replace('/', '~1')}`;
  if (from === to) return [];
  return [
    { op: 'test', path, value: from },
    { op: 'replace', path, value: to },
  ];
}

export interface PortFillerOptions {
  /** The Network of this key, and what makes the ports of its pods; undefined if its provider makes none. */
  readonly portsOf: (
    network: ObjectKey,
  ) => { readonly network: Network; readonly ports: PodPorts } | undefined;
  readonly access: NetworkAccess;
}

/** Writes the ports of pods into Multus' annotation. */
export class PortFiller {
  readonly #options: PortFillerOptions;

  constructor(options: PortFillerOptions) {
    this.#options = options;
  }

  /** Whether pods on the Network need a port. */
  serves(network: ObjectKey): boolean {
    return this.#options.portsOf(network) !== undefined;
  }

  /** Returns the annotation with the ports of the pod, or why it must wait. */
  async fill(
    pod: KubeObject,
    text: string,
    signal: AbortSignal,
  ): Promise<{ readonly text: string } | PortRefusal> {
    const { namespace = '' } = pod.metadata;
    const selection = parseSelection(text, namespace);
    if ('problem' in selection) return { text };
    const made = new Map<number, JsonObject>();
    const seen = new Set<ObjectKey>();
    for (const [index, selected] of selection.networks.entries()) {
      const key = keyOfSelected(selected);
      const isAllowed = isNetworkKey(key) && this.#options.access.allows(namespace, key);
      const served = isAllowed ? this.#options.portsOf(key) : undefined;
      if (!served) continue;
      if (seen.has(key)) {
        const why = `the pod names Network ${key} twice, and gets one port on it: name it once`;
        return { reason: 'InvalidNetworkAnnotation', why };
      }
      seen.add(key);
      const result = await served.ports.attach(pod, served.network, selected.element, signal);
      if ('why' in result) return result;
      made.set(index, result.options);
    }
    return { text: withOptions(selection, made) };
  }
}
