import { isNotFound } from '../api/api-error.ts';
import type { KubeObject } from '../api/object.ts';
import { apiVersionOf, isKubeObject, type Resource } from '../api/resource.ts';
import type { KubeClient } from '../client/client.ts';

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

/** The state of an election in its Lease. Its times are for users: a candidate does not use another one's clock. */
export interface LeaseRecord {
  /** Empty if no process leads. */
  readonly holder: string;
  /** How long a candidate must have seen no change before it may take the lease over. */
  readonly durationSeconds: number;
  readonly acquireTime?: string | undefined;
  readonly renewTime?: string | undefined;
  /** How often the holder has changed. */
  readonly transitions: number;
}

export const LEASES: Resource<Lease> = {
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
  decode(value) {
    if (!isKubeObject(value)) throw new TypeError('expected a Lease with a metadata.name');
    return value;
  },
};

export function recordOf({ spec = {} }: Pick<Lease, 'spec'>): LeaseRecord {
  return {
    holder: spec.holderIdentity ?? '',
    durationSeconds: spec.leaseDurationSeconds ?? 0,
    acquireTime: spec.acquireTime,
    renewTime: spec.renewTime,
    transitions: spec.leaseTransitions ?? 0,
  };
}

function specOf(record: LeaseRecord): LeaseSpec {
  return {
    holderIdentity: record.holder,
    leaseDurationSeconds: record.durationSeconds,
    ...(record.acquireTime !== undefined && { acquireTime: record.acquireTime }),
    ...(record.renewTime !== undefined && { renewTime: record.renewTime }),
    leaseTransitions: record.transitions,
  };
}

export type LeaseClient = Pick<KubeClient, 'get' | 'create' | 'mergePatch'>;

export interface LeaseName {
  readonly namespace: string;
  readonly name: string;
}

/**
 * Reads and writes one Lease. Each write has the resourceVersion that was last read here: it fails with a conflict if
 * another client has written meanwhile.
 */
export class LeaseLock {
  readonly #client: LeaseClient;
  readonly #name: LeaseName;
  #lease: Lease | undefined;

  constructor(client: LeaseClient, name: LeaseName) {
    this.#client = client;
    this.#name = name;
  }

  /** The Lease as the object of Events. */
  get object(): KubeObject {
    const { uid } = this.#lease?.metadata ?? {};
    const metadata = { ...this.#name, ...(uid !== undefined && { uid }) };
    return { apiVersion: apiVersionOf(LEASES), kind: LEASES.kind, metadata };
  }

  /** Undefined if the Lease does not exist. */
  async get(signal: AbortSignal): Promise<LeaseRecord | undefined> {
    try {
      this.#lease = await this.#client.get(LEASES, this.#name, { signal });
      return recordOf(this.#lease);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      return undefined;
    }
  }

  async create(record: LeaseRecord, signal: AbortSignal): Promise<void> {
    const { apiVersion, kind } = this.object;
    const lease = { apiVersion, kind, metadata: this.#name, spec: specOf(record) };
    this.#lease = await this.#client.create(LEASES, lease, { signal });
  }

  /**
   * Patches the Lease, where client-go PUTs all of it. With a resourceVersion it is as strict, and it keeps the fields
   * of other clients (labels, ownerReferences, `spec.strategy`).
   */
  async update(record: LeaseRecord, signal: AbortSignal): Promise<void> {
    const resourceVersion = this.#lease?.metadata.resourceVersion;
    if (resourceVersion === undefined)
      throw new Error('cannot update a Lease that was not read or created before');
    const patch = { metadata: { resourceVersion }, spec: specOf(record) };
    this.#lease = await this.#client.mergePatch(LEASES, this.#name, patch, { signal });
  }
}
