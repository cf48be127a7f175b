import type { KubeObject, ObjectKey } from '../kube/api/object.ts';
import type { Informer } from '../kube/cache/informer.ts';
import type { Lister } from '../kube/cache/store.ts';
import type { Manager } from '../kube/manager/manager.ts';
import type { Task } from '../kube/util/task-group.ts';
import type { JsonObject } from '../util/json.ts';
import type { ConditionUpdate } from './api/conditions.ts';
import type { WantedAttachment } from './api/resources.ts';
import type { Subnet } from './api/subnet.ts';
import type { Network, NetworkNode } from './api/types.ts';

/**
 * Creates, updates and deletes real networks. All methods are idempotent, and find earlier work by the UID of the
 * Network, which the creating call writes into the backend. So a crash between any two calls leaves no duplicates and
 * no orphans. Expected problems are return values; thrown errors are retried with back-off.
 */
export interface Provider {
  /** The value of `spec.provider`. */
  readonly name: string;
  /** Whether pods can attach to its networks. If not, the webhook refuses pods that ask for one. */
  readonly attachesPods: boolean;
  /** Whether it calls a backend other than the API server, which may be slow. */
  readonly isRemote: boolean;
  /** Makes the ports of pods on its networks. Without it, pods need none. */
  readonly ports?: PodPorts | undefined;
  /** The MTU of new networks whose spec sets none, in bytes. Without it, the backend decides. */
  defaultMtu?(): number;
  /** Why it can never apply this spec, beyond the CRD's rules; undefined if it can. No I/O. Without it, it can apply all. */
  validate?(network: Network): SpecError | undefined;
  /** The current subnet in the backend; undefined without one. Without it, only the status of the Network shows it. */
  actual?(network: Network, signal: AbortSignal): Promise<Subnet | undefined>;
  /** Creates the network with this subnet, or updates it. */
  ensure(network: Network, subnet: Subnet, signal: AbortSignal): Promise<Ensured>;
  /** The users of the network; undefined if they are not counted. Without it, they never are. */
  usage?(network: Network, signal: AbortSignal): Promise<Usage | undefined>;
  /** Deletes the network; with `retain`, keeps it without ownership. */
  remove(network: Network, options: { readonly retain: boolean }, signal: AbortSignal): Promise<Removal>;
  /**
   * Releases leftovers of an earlier Network of this key, whose finalizer a user removed. Called if the cache has no
   * Network with that key. Without it, the provider finds them itself.
   */
  release?(key: ObjectKey, signal: AbortSignal): Promise<void>;
  /** Whether pods on its networks get the addresses that the operator writes into their annotations. */
  readonly takesAddresses?: boolean;
  /** Keys of leftovers of deleted Networks. */
  leftBehind?(): readonly ObjectKey[];
  /** Resolves when its caches are synced, or the signal aborts, because a watched CRD may not be installed. */
  waitForSync?(signal: AbortSignal): Promise<unknown>;
}

/** Sets up a provider, and starts nothing. */
export type SetUpProvider = (manager: Manager, context: ProviderContext) => Provider;

/** What the setup of a provider can use, in addition to the manager. */
export interface ProviderContext {
  readonly namespace: string;
  /** Those that use Networks or wait for them. */
  readonly pods: Pick<Informer<KubeObject>, 'lister' | 'addEventHandler'>;
  /** The cache of Networks, with MULTUS_INDEXERS. */
  readonly networks: Pick<Lister<Network>, 'get' | 'byIndex'>;
  readonly enqueue: (key: ObjectKey) => void;
  readonly enqueueAll: () => void;
  readonly usageOf: (network: Network) => Usage;
  readonly definitions: Definitions;
  /** Resolves when the leader knows all Networks and the pods on them. */
  readonly after: Task;
}

/** The NetworkAttachmentDefinitions of Networks, for providers to which Multus attaches pods. */
export interface Definitions {
  /** Creates or restores the definition, and tells which. */
  ensure(
    network: Network,
    wanted: WantedAttachment,
    signal: AbortSignal,
  ): Promise<Realised['change'] | NotReady>;
  /** Deletes the definition; with `retain`, keeps it without ownership. */
  remove(network: Network, retain: boolean, signal: AbortSignal): Promise<Removal>;
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
  ): Promise<{ readonly options: JsonObject } | Refusal>;
}

/** Why a pod must wait for its interface. */
export interface Refusal {
  readonly reason:
    | 'WaitsForNetwork'
    | 'InvalidNetworkAnnotation'
    | 'AddressesExhausted'
    | 'PortRefused'
    | 'ProviderCannotAttach'
    | 'ProviderUnavailable';
  /** A sentence without a full stop. */
  readonly why: string;
  /** When to try again, in milliseconds. */
  readonly retryAfterMs?: number;
}

/** Why the operator does not accept a spec. */
export interface SpecError {
  readonly reason: 'Invalid' | 'RangeNotAllowed' | 'RangeTaken' | 'Overlap' | 'ProviderUnavailable';
  /** What is wrong, and what to write instead. */
  readonly message: string;
}

export type Ensured = Realised | NotReady;

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
export interface NotReady {
  readonly kind: 'notReady';
  /** One of docs/troubleshooting.md. */
  readonly reason: string;
  readonly message: string;
  /** The real network did not change or is not readable: the status keeps its fields. */
  readonly keepsKnown?: true;
  /** When to retry, in milliseconds, if no event triggers it. */
  readonly retryAfterMs?: number;
}

export type Removal =
  | { readonly kind: 'gone' }
  | { readonly kind: 'blocked'; readonly message: string; readonly retryAfterMs?: number };

export interface Usage {
  /** Attached live pods. */
  readonly pods: readonly ObjectKey[];
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
  readonly nodes: readonly NetworkNode[];
  readonly condition: ConditionUpdate;
}
