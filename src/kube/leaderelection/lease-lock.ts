import { isNotFound } from '../api/api-error.ts';
import type { KubeObject } from '../api/object.ts';
import { apiVersionOf } from '../api/resource.ts';
import type { KubeClient } from '../client/client.ts';
import { LEASES, type Lease, type LeaseRecord, recordOf, specOf } from './lease-record.ts';

export type LeaseClient = Pick<KubeClient, 'get' | 'create' | 'mergePatch'>;

export interface LeaseName {
  readonly namespace: string;
  readonly name: string;
}

/**
 * Reads and writes one Lease. Each write is bound to the resourceVersion last seen here: it fails with a conflict when
 * anybody wrote in between.
 */
export class LeaseLock {
  readonly #client: LeaseClient;
  readonly #name: LeaseName;
  #lease: Lease | undefined;

  constructor(client: LeaseClient, name: LeaseName) {
    this.#client = client;
    this.#name = name;
  }

  /** The Lease as something that Events can be about. */
  get object(): KubeObject {
    const { uid } = this.#lease?.metadata ?? {};
    const metadata = { ...this.#name, ...(uid !== undefined && { uid }) };
    return { apiVersion: apiVersionOf(LEASES), kind: LEASES.kind, metadata };
  }

  /** Undefined where there is no such Lease. */
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
   * A patch where client-go PUTs the whole Lease: with a resourceVersion it is as strict, and it leaves alone what
   * others put there (labels, ownerReferences, `spec.strategy`).
   */
  async update(record: LeaseRecord, signal: AbortSignal): Promise<void> {
    const resourceVersion = this.#lease?.metadata.resourceVersion;
    if (resourceVersion === undefined)
      throw new Error('a Lease must be read or created before it is updated');
    const patch = { metadata: { resourceVersion }, spec: specOf(record) };
    this.#lease = await this.#client.mergePatch(LEASES, this.#name, patch, { signal });
  }
}
