import type { KubeObject, ObjectKey } from '../../kube/api/object.ts';
import type { JsonObject } from '../../util/json.ts';
import { withOptions } from '../addresses/request.ts';
import type { Network } from '../api/types.ts';
import type { PodPorts, PortRefusal } from '../providers/pod-ports.ts';
import type { NetworkAccess } from './network-access.ts';
import { isNetworkKey } from './network-status.ts';
import { keyOfSelected, parseSelection } from './selection.ts';

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
