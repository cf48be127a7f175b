import type { ObjectKey } from '../../kube/api/object.ts';
import type { Subnet } from '../api/subnet.ts';
import type { Network } from '../api/types.ts';

/** Why a spec is not accepted. */
export interface SpecError {
  readonly reason: 'Invalid' | 'RangeNotAllowed' | 'RangeTaken' | 'Overlap' | 'ProviderUnavailable';
  /** What is wrong, and what to write instead. */
  readonly message: string;
}

/** Why a network that is as asked is still not one for every pod. */
export interface Limit<Reason extends string> {
  readonly reason: Reason;
  readonly message: string;
}

/** The network is as asked. */
export interface Realised<Reason extends string> {
  readonly kind: 'ready';
  /** What it took: `restored` where somebody else had changed or deleted it. */
  readonly change: 'none' | 'created' | 'updated' | 'restored';
  /** Addresses that it has for pods. */
  readonly capacity: number;
  readonly externalID?: string;
  /** The VXLAN identifier by which the nodes are joined; absent where they are not. */
  readonly vni?: number;
  /** With one, the Network is not Ready. */
  readonly limit?: Limit<Reason> | undefined;
}

/** The network cannot be as asked, for a reason that another write of ours would not change. */
export interface NotReady<Reason extends string> {
  readonly kind: 'notReady';
  readonly reason: Reason | 'ProviderUnavailable';
  readonly message: string;
  /** The real network is as it was, or cannot be looked at: what the status says of it stays. */
  readonly keepsKnown?: true;
  /** When to look again, in milliseconds, where no event will tell. */
  readonly retryAfterMs?: number;
}

export type Ensured<Reason extends string> = Realised<Reason> | NotReady<Reason>;

/** What became of a removal. */
export type Removal =
  | { readonly kind: 'gone' }
  | { readonly kind: 'blocked'; readonly message: string; readonly retryAfterMs?: number };

/** Who uses a network. */
export interface Usage {
  /** Live pods that are attached. */
  readonly pods: readonly ObjectKey[];
  /** Addresses that are taken. */
  readonly allocated?: number;
}

/**
 * What makes networks real. Everything here is idempotent, and finds what it made before by the UID of the Network,
 * which is written into the backend in the same call that creates: a crash between any two calls leaves nothing
 * twice and nothing orphaned. What a provider has to say is a value; what it throws is retried with back-off.
 * `Reason` is what it gives in conditions beside ProviderUnavailable, why a network is not Ready.
 */
export interface Provider<Reason extends string = string> {
  readonly name: string;
  /** Whether pods can be attached to its networks. Where they cannot, a pod that asks for one is refused. */
  readonly attachesPods: boolean;
  /** Whether what it asks is not the API server, and may take its time. */
  readonly isRemote: boolean;
  /** Whether it could realise this spec at all, the CRD's own rules apart. No I/O. */
  validate(network: Network): SpecError | undefined;
  /** What it has for this Network now; undefined for nothing, and where its status alone can tell. */
  actual(network: Network, signal: AbortSignal): Promise<Subnet | undefined>;
  /** Makes the network be of this subnet. */
  ensure(network: Network, subnet: Subnet, signal: AbortSignal): Promise<Ensured<Reason>>;
  /** Who uses it; undefined where nobody counts. */
  usage(network: Network, signal: AbortSignal): Promise<Usage | undefined>;
  /** Removes it; with `retain` leaves it behind, no longer ours. */
  remove(network: Network, options: { readonly retain: boolean }, signal: AbortSignal): Promise<Removal>;
  /**
   * Lets go of what an earlier Network of this key left behind: one whose finalizer somebody took off by hand.
   * Called where the cache has no Network of that key.
   */
  release(key: ObjectKey, signal: AbortSignal): Promise<void>;
}
