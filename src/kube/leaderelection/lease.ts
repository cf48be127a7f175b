import { isDeepStrictEqual } from 'node:util';
import { ifFound, isConflict } from '../api/api-error.ts';
import { type KubeObject, microTime } from '../api/object.ts';
import { kindOf, type Resource, regardingOf } from '../api/resource.ts';
import type { KubeClient } from '../client/client.ts';
import type { Clock } from '../workqueue/clock.ts';

/** coordination.k8s.io/v1 Lease. Times are MicroTime strings. */
export interface Lease extends KubeObject {
  readonly spec?: LeaseSpec;
}

export interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
}

export const LEASES: Resource<Lease> = kindOf('coordination.k8s.io/v1', 'Lease');

export type LeaseClient = Pick<KubeClient, 'get' | 'create' | 'mergePatch'>;

export interface LeaseCandidateOptions {
  /** A client with separate connections: no other request can delay a renewal. */
  readonly client: LeaseClient;
  readonly lease: { readonly namespace: string; readonly name: string };
  readonly clock: Clock;
  readonly wallClock: () => Date;
  /** Unique to this process, also after a restart on the same host: `hostname_uuid`. */
  readonly identity: string;
  readonly durationSeconds: number;
}

/** Attempts to release: an earlier renewal that timed out may still be written, and cause a conflict. */
const MAX_RELEASE_TRIES = 3;

/**
 * One candidate for a Lease: single attempts to take, renew and release it, by the rules of client-go
 * (tools/leaderelection/leaderelection.go, tryAcquireOrRenew and release). A method rejects if the attempt failed, with
 * a conflict if another process wrote first: each write has the resourceVersion that was last read here.
 */
export class LeaseCandidate {
  readonly #options: LeaseCandidateOptions;
  /** As it was last read or written; undefined if it does not exist. */
  #lease: Lease | undefined;
  /** The last state that look() found with another holder, and when it expires by this process's monotonic clock. */
  #observed: LeaseSpec | undefined;
  #expiresAt = Number.NEGATIVE_INFINITY;
  #renewedAt: number | undefined;

  constructor(options: LeaseCandidateOptions) {
    this.#options = options;
  }

  /**
   * When this process last took or renewed the lease, in the clock's milliseconds; undefined while it does not hold it.
   * It is the moment before the request was sent: another process can only see the renewal later, so it waits longer.
   */
  get renewedAt(): number | undefined {
    return this.#renewedAt;
  }

  /** The holder of the lease when it was last read, expired or not; empty without a holder. */
  get holder(): string {
    return this.#lease?.spec?.holderIdentity ?? '';
  }

  /** The Lease as the object of Events. */
  get object(): KubeObject {
    const { uid } = this.#lease?.metadata ?? {};
    const metadata = { ...this.#options.lease, ...(uid !== undefined && { uid }) };
    return regardingOf(LEASES, { metadata });
  }

  /**
   * Reads the lease and returns its holder; empty if the lease may be taken. That is so if it has no holder, if this
   * process holds it from an attempt that seemed to fail, or if it was *seen* unchanged for its duration. The times in
   * the Lease, from clocks of other machines, are not used.
   */
  async look(signal: AbortSignal): Promise<string> {
    const { clock, identity } = this.#options;
    const { spec = {} } = (await this.#read(signal)) ?? {};
    if (this.holder === '' || this.holder === identity) return '';
    const now = clock.now();
    if (!isDeepStrictEqual(spec, this.#observed))
      this.#expiresAt = now + (spec.leaseDurationSeconds ?? 0) * 1000;
    this.#observed = spec;
    return now >= this.#expiresAt ? '' : this.holder;
  }

  /** Takes the lease, which the last look() found free. */
  async take(signal: AbortSignal): Promise<void> {
    const { clock, wallClock, identity, durationSeconds } = this.#options;
    const now = microTime(wallClock());
    const sentAt = clock.now();
    const { acquireTime = now, leaseTransitions = 0 } = this.#lease?.spec ?? {};
    const isRenewal = this.#lease === undefined || this.holder === identity;
    const spec: LeaseSpec = {
      holderIdentity: identity,
      leaseDurationSeconds: durationSeconds,
      acquireTime: isRenewal ? acquireTime : now,
      renewTime: now,
      leaseTransitions: leaseTransitions + (isRenewal ? 0 : 1),
    };
    await this.#write(spec, signal);
    this.#renewedAt = sentAt;
  }

  /**
   * Renews the lease of this process. It first writes without reading. If that fails, it reads the Lease and tries
   * again: an earlier renewal that timed out may have been written, or a user has edited or deleted the Lease. If
   * another process holds it, nothing is written, and {@link renewedAt} is undefined.
   */
  async renew(signal: AbortSignal): Promise<void> {
    try {
      await this.take(signal);
      return;
    } catch {
      // The next answer has the same error, or it does not matter.
      signal.throwIfAborted();
    }
    const lease = await this.#read(signal);
    if (lease && this.holder !== this.#options.identity) this.#renewedAt = undefined;
    else await this.take(signal);
  }

  /** Releases the lease, so that others can take it at once. Call it when the work of the term has ended. */
  async release(signal: AbortSignal): Promise<void> {
    const { wallClock, identity } = this.#options;
    this.#renewedAt = undefined;
    for (let attempt = 1; ; attempt++) {
      const lease = await this.#read(signal);
      if (!lease || this.holder !== identity) return;
      const now = microTime(wallClock());
      const released = { holderIdentity: '', leaseDurationSeconds: 1, acquireTime: now, renewTime: now };
      try {
        await this.#write(released, signal);
        return;
      } catch (error) {
        if (!isConflict(error) || attempt === MAX_RELEASE_TRIES) throw error;
      }
    }
  }

  async #read(signal: AbortSignal): Promise<Lease | undefined> {
    const { client, lease } = this.#options;
    this.#lease = await ifFound(client.get(LEASES, lease, { signal }));
    return this.#lease;
  }

  /**
   * Creates the Lease, or patches it, where client-go PUTs all of it. With a resourceVersion it is as strict, and it
   * keeps the fields of other clients (labels, ownerReferences, `spec.strategy`).
   */
  async #write(spec: LeaseSpec, signal: AbortSignal): Promise<void> {
    const { client, lease: name } = this.#options;
    if (this.#lease) {
      const patch = { metadata: { resourceVersion: this.#lease.metadata.resourceVersion }, spec };
      this.#lease = await client.mergePatch(LEASES, name, patch, { signal });
    } else {
      this.#lease = await client.create(LEASES, { ...this.object, metadata: name, spec } as Lease, {
        signal,
      });
    }
  }
}
