import type { KubeObject } from '../../kube/api/object.ts';
import type { JsonObject } from '../../util/json.ts';
import type { Network } from '../api/types.ts';

/** Why a pod must wait for its interface. */
export interface PortRefusal {
  readonly reason:
    | 'WaitsForNetwork'
    | 'InvalidNetworkAnnotation'
    | 'AddressesExhausted'
    | 'PortRefused'
    | 'ProviderUnavailable';
  /** A sentence without a full stop. */
  readonly why: string;
  /** When to try again, in milliseconds. */
  readonly retryAfterMs?: number;
}

/** The ports that a provider makes for the interfaces of pods, before the pods start. */
export interface PodPorts {
  /**
   * Makes the port of a pod on the Network, or finds it. Returns the options of the interface in Multus' annotation.
   * `asked` has the options that the pod asks for. Idempotent: a pod has one port on a Network.
   */
  attach(
    pod: KubeObject,
    network: Network,
    asked: JsonObject,
    signal: AbortSignal,
  ): Promise<{ readonly options: JsonObject } | PortRefusal>;
}
