import type { ObjectKey } from '../../kube/api/object.ts';
import type { IndexFunction, Lister } from '../../kube/cache/store.ts';
import type { Manager } from '../../kube/manager/manager.ts';
import type { Task } from '../../kube/util/task-group.ts';
import type { Network } from '../api/types.ts';
import type { PodPorts } from './pod-ports.ts';
import type { Provider, Usage } from './provider.ts';

/** The live pods on Networks. */
export interface LivePods {
  /** The UID of the pod with this key; undefined if the cache has none. */
  uidOf(key: ObjectKey): string | undefined;
  /** Calls the handler with the key of each pod that is gone. */
  onGone(handler: (key: ObjectKey) => void): void;
}

/** What the setup of a provider can use, in addition to the manager. */
export interface ProviderContext {
  /** The operator's namespace. */
  readonly namespace: string;
  readonly neutronSecret: string;
  /** Whether pods can attach to networks of Neutron. */
  readonly neutronPods: boolean;
  readonly pods: LivePods;
  /** The cache of Networks, with the indexers of all providers. */
  readonly networks: Pick<Lister<Network>, 'get' | 'byIndex'>;
  /** Requeues the Network with this key. */
  readonly enqueue: (key: ObjectKey) => void;
  /** Requeues every Network. */
  readonly enqueueAll: () => void;
  /** The users of the Network. Without it, users are not counted. */
  readonly usageOf?: ((network: Network) => Usage) | undefined;
  /** The MTU of networks that node agents connect, if the spec sets none, in bytes. */
  readonly defaultMtu: () => number;
  /** Why Multus attaches pods on no node; undefined if it does on one, or that is not known. */
  readonly withoutMultus?: (() => string | undefined) | undefined;
  /** Whether pods of all namespaces may use the Network. Without it, they may not. */
  readonly isShared?: ((key: ObjectKey) => boolean) | undefined;
  /** Resolves when the leader knows all Networks and the pods on them. */
  readonly after: Task;
}

/** A configured provider. The setup starts nothing. */
export interface ProviderSetup<Reason extends string> {
  readonly provider: Provider<Reason>;
  /**
   * Whether pods on the Network get the addresses that the operator writes into their annotations. Without it, they do
   * not.
   */
  takesAddresses?(key: ObjectKey): boolean;
  /** Makes the ports of pods on its networks. Without it, pods need none. */
  readonly ports?: PodPorts | undefined;
  /** Keys of leftovers of deleted Networks. */
  leftBehind?(): readonly ObjectKey[];
  /** Resolves when its caches are synced, or the signal aborts, because a watched CRD may not be installed. */
  waitForSync?(signal: AbortSignal): Promise<unknown>;
}

/** The export of a provider's folder. */
export interface ProviderEntry<Reason extends string = string> {
  /** The value of `spec.provider`. */
  readonly name: NonNullable<Network['spec']['provider']>;
  /** Its condition reasons for networks that are not Ready, in addition to ProviderUnavailable. */
  readonly reasons: readonly Reason[];
  /** Its indexers of the cache of Networks. */
  readonly networkIndexers?: Readonly<Record<string, IndexFunction<Network>>>;
  setUp(manager: Manager, context: ProviderContext): ProviderSetup<Reason>;
}
