import { ApiError } from '../../../src/kube/api/api-error.ts';
import type { QueuedEventRecorderOptions } from '../../../src/kube/events/queued-event-recorder.ts';

export interface StoredEvent {
  readonly metadata: { readonly namespace: string; readonly name: string };
  readonly note: string;
  readonly eventTime: string;
  readonly series?: { readonly count: number; readonly lastObservedTime: string };
  readonly [field: string]: unknown;
}

/** The Events of an API server, as far as a recorder uses it. */
export class FakeEvents {
  readonly stored = new Map<string, StoredEvent>();
  /** `create NAME` or `patch NAME COUNT`, in order, also what failed. */
  readonly operations: string[] = [];
  /** Called with each request before it is carried out: throws what the request fails with. */
  before: (operation: string, signal: AbortSignal | undefined) => Promise<void> | void = () => {};
  /** Called when a request was carried out, and its answer is on its way. */
  after: (operation: string) => void = () => {};

  readonly client: QueuedEventRecorderOptions['client'] = {
    create: async (resource, object, options) => {
      const event = structuredClone(object) as StoredEvent;
      const { name } = event.metadata;
      await this.#begin(`create ${name}`, options?.signal);
      if (this.stored.has(name)) throw refusal(409, 'AlreadyExists');
      this.stored.set(name, event);
      this.after(`create ${name}`);
      return resource.decode(event);
    },
    mergePatch: async (resource, { name }, patch, options) => {
      const { series } = patch as Pick<StoredEvent, 'series'>;
      await this.#begin(`patch ${name} ${series?.count}`, options?.signal);
      const event = this.stored.get(name);
      if (!event) throw refusal(404, 'NotFound');
      this.stored.set(name, { ...event, ...(patch as Partial<StoredEvent>) });
      this.after(`patch ${name}`);
      return resource.decode(event);
    },
  };

  get all(): readonly StoredEvent[] {
    return [...this.stored.values()];
  }

  /** What was asked for, without names. */
  get verbs(): readonly string[] {
    return this.operations.map((operation) => operation.replace(/ \S+/, ''));
  }

  async #begin(operation: string, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    this.operations.push(operation);
    await this.before(operation, signal);
  }
}

export function refusal(status: number, reason: string, causes: readonly string[] = []): ApiError {
  return new ApiError({ status, reason, message: reason, causes });
}
