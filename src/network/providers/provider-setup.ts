import type { ObjectKey } from '../../kube/api/object.ts';
import type { IndexFunction, Lister } from '../../kube/cache/store.ts';
import type { Manager } from '../../kube/manager/manager.ts';
import type { Task } from '../../kube/util/together.ts';
import type { Network } from '../api/types.ts';
import type { NodeCoverage } from '../nodes/cluster-nodes.ts';
import type { Provider, Usage } from './provider.ts';

/** What providers are set up with, beside the manager; each takes what it needs. */
export interface ProviderContext {
  /** The operator's own. */
  readonly namespace: string;
  readonly neutronSecret: string;
  /** The cache's, with the indices of all providers. */
  readonly networks: Pick<Lister<Network>, 'get' | 'byIndex'>;
  /** Has the Network of the key reconciled. */
  readonly enqueue: (key: ObjectKey) => void;
  /** Has every Network reconciled. */
  readonly enqueueAll: () => void;
  /** Who uses the Network of this key. Without it nobody counts them. */
  readonly usageOf?: ((key: ObjectKey) => Usage) | undefined;
  /** How far networks reach that are on the nodes. */
  readonly reach?: NodeCoverage | undefined;
  /** Resolves when the leader knows all Networks and the pods on them. */
  readonly after: Task;
}

/** A provider at work. It starts nothing by itself. */
export interface ProviderSetup<Reason extends string> {
  readonly provider: Provider<Reason>;
  /** Keys of what Networks have left behind, beside the Networks there are. */
  leftBehind?(): readonly ObjectKey[];
  /** Resolves when its caches are warm, or the signal aborts: what it watches may not be installed. */
  waitForSync?(signal: AbortSignal): Promise<unknown>;
}

/** A provider, as its folder exports it. */
export interface ProviderEntry<Reason extends string = string> {
  /** As the CRD has it in `spec.provider`. */
  readonly name: NonNullable<Network['spec']['provider']>;
  /** Why its networks are not Ready, beside ProviderUnavailable: the reasons of conditions. */
  readonly reasons: readonly Reason[];
  /** Indices of the cache of Networks that it looks into. */
  readonly networkIndexers?: Readonly<Record<string, IndexFunction<Network>>>;
  setUp(manager: Manager, context: ProviderContext): ProviderSetup<Reason>;
}
