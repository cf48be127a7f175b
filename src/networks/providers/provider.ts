import type { ObjectKey } from '../../kube/api/object.ts';
import type { ConditionUpdate } from '../api/conditions.ts';
import type { Subnet } from '../api/subnet.ts';
import type { Network, NetworkNode } from '../api/types.ts';

/** Why the operator does not accept a spec. */
export interface SpecError {
  readonly reason: 'Invalid' | 'RangeNotAllowed' | 'RangeTaken' | 'Overlap' | 'ProviderUnavailable';
  /** What is wrong, and what to write instead. */
  readonly message: string;
}

/** The network matches the spec. */
export interface Realised {
  readonly kind: 'ready';
  /** What the provider did; `restored` after a change or deletion by another client. */
  readonly change: 'none' | 'created' | 'updated' | 'restored';
  /** The number of addresses for pods. */
  readonly capacity: number;
  readonly externalID?: string;
  /** The VXLAN identifier with which agents connect the nodes; absent if the backend connects them. */
  readonly vni?: number;
}

/** The network cannot match the spec, and a retry alone does not help. */
export interface NotReady<Reason extends string> {
  readonly kind: 'notReady';
  readonly reason: Reason | 'ProviderUnavailable';
  readonly message: string;
  /** The real network did not change or is not readable: the status keeps its fields. */
  readonly keepsKnown?: true;
  /** When to retry, in milliseconds, if no event triggers it. */
  readonly retryAfterMs?: number;
}

export type Ensured<Reason extends string> = Realised | NotReady<Reason>;

/** The result of a deletion. */
export type Removal =
  | { readonly kind: 'gone' }
  | { readonly kind: 'blocked'; readonly message: string; readonly retryAfterMs?: number };

/** The users of a network. */
export interface Usage {
  /** Attached live pods. */
  readonly pods: readonly ObjectKey[];
  /** The number of addresses in use. */
  readonly allocated?: number;
  /** The number of addresses for pods; absent if it is not known here. */
  readonly total?: number;
  /** Why the backend refuses ports for new pods; absent if it does not. */
  readonly refusal?: string;
  /** Absent if the backend connects the nodes. */
  readonly nodes?: NodesInUse;
}

/** The nodes on which pods of a network run. */
export interface NodesInUse {
  /** Sorted by name. */
  readonly nodes: readonly NetworkNode[];
  /** The condition NodesReady. */
  readonly condition: ConditionUpdate;
  /** Whether the agents of all these nodes are of this release. */
  readonly areCurrent: boolean;
}

/**
 * Creates, updates and deletes real networks. All methods are idempotent, and find earlier work by the UID of the
 * Network, which the creating call writes into the backend. So a crash between any two calls leaves no duplicates and
 * no orphans. Expected problems are return values; thrown errors are retried with back-off. `Reason` lists the
 * provider's condition reasons for a network that is not Ready, in addition to ProviderUnavailable.
 */
export interface Provider<Reason extends string = string> {
  readonly name: string;
  /** Whether pods can attach to its networks. If not, the webhook refuses pods that ask for one. */
  readonly attachesPods: boolean;
  /** Whether each pod has a port on its networks, with options that the pod may choose. */
  readonly hasPorts?: boolean;
  /** The MTU of new networks whose spec sets none, in bytes. Without it, the backend decides. */
  defaultMtu?(): number;
  /** Whether it calls a backend other than the API server, which may be slow. */
  readonly isRemote: boolean;
  /** Why it can never apply this spec, beyond the CRD's rules; undefined if it can. No I/O. */
  validate(network: Network): SpecError | undefined;
  /** The current subnet in the backend; undefined without one, or if only the status of the Network shows it. */
  actual(network: Network, signal: AbortSignal): Promise<Subnet | undefined>;
  /** Creates the network with this subnet, or updates it. */
  ensure(network: Network, subnet: Subnet, signal: AbortSignal): Promise<Ensured<Reason>>;
  /** The users of the network; undefined if they are not counted. */
  usage(network: Network, signal: AbortSignal): Promise<Usage | undefined>;
  /** Deletes the network; with `retain`, keeps it without ownership. */
  remove(network: Network, options: { readonly retain: boolean }, signal: AbortSignal): Promise<Removal>;
  /**
   * Releases leftovers of an earlier Network of this key, whose finalizer a user removed. Called if the cache has no
   * Network with that key.
   */
  release(key: ObjectKey, signal: AbortSignal): Promise<void>;
}
