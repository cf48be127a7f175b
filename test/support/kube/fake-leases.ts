import { ApiError, TransportError } from '../../../src/kube/api/api-error.ts';
import type { Lease, LeaseClient, LeaseSpec } from '../../../src/kube/leaderelection/lease.ts';

type Operation = 'get' | 'create' | 'update';

/** What happens to one request: `before` it is carried out and `after`, when the answer is on its way. */
export interface Fault {
  readonly before?: (signal: AbortSignal | undefined) => Promise<void> | void;
  readonly after?: (signal: AbortSignal | undefined) => Promise<void> | void;
}

/** One Lease as the API server keeps it, with its rules for resourceVersions; shared by any number of candidates. */
export class FakeLeases {
  lease: Lease | undefined;
  /** What was asked for, in order, also what failed. */
  readonly operations: Operation[] = [];
  /** Asked for every request with its number, from 1 on. */
  fault: (operation: Operation, number: number) => Fault | undefined = () => undefined;
  #version = 0;

  constructor(spec?: LeaseSpec) {
    if (spec) this.set(spec);
  }

  get spec(): LeaseSpec {
    return this.lease?.spec ?? {};
  }

  /** Somebody else writes the Lease. */
  set(spec: LeaseSpec): void {
    const metadata = { name: 'operator', namespace: 'system', resourceVersion: String(++this.#version) };
    this.lease = { metadata: { ...this.lease?.metadata, ...metadata }, spec };
  }

  /** As one candidate sees it, for as long as that one reaches the server. */
  client(isConnected: () => boolean = () => true): LeaseClient {
    const serve = <R>(
      operation: Operation,
      signal: AbortSignal | undefined,
      carryOut: () => R,
    ): Promise<R> => (isConnected() ? this.#serve(operation, signal, carryOut) : unreachable());
    return {
      get: (resource, _ref, options) => serve('get', options?.signal, () => resource.decode(this.#found())),
      create: (resource, object, options) =>
        serve('create', options?.signal, () => {
          if (this.lease) throw failure(409, 'AlreadyExists');
          this.set((object as Lease).spec ?? {});
          return resource.decode(this.#found());
        }),
      mergePatch: (resource, _ref, patch, options) =>
        serve('update', options?.signal, () => {
          const { metadata, spec } = patch as Lease;
          const current = this.#found();
          if (metadata.resourceVersion !== current.metadata.resourceVersion) throw failure(409, 'Conflict');
          this.set({ ...current.spec, ...spec });
          return resource.decode(this.#found());
        }),
    };
  }

  async #serve<R>(operation: Operation, signal: AbortSignal | undefined, carryOut: () => R): Promise<R> {
    const fault = this.fault(operation, this.operations.push(operation));
    await fault?.before?.(signal);
    const result = carryOut();
    await fault?.after?.(signal);
    return result;
  }

  #found(): Lease {
    if (!this.lease) throw failure(404, 'NotFound');
    return structuredClone(this.lease);
  }
}

function failure(status: number, reason: string): ApiError {
  return new ApiError({ status, reason, message: reason });
}

/** A request that meets no server. */
export function unreachable(): Promise<never> {
  return Promise.reject(new TransportError('connect ECONNREFUSED', 'ECONNREFUSED', undefined));
}

/** A request that is never answered: it ends when its caller gives up. */
export function hang(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
}
