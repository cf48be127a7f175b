import { controllerOf, type KubeObject, keyOf, type ObjectKey } from '../api/object.ts';
import { apiVersionOf, type Resource } from '../api/resource.ts';
import type { Informer } from '../cache/informer.ts';
import type { Informers, Selection } from '../cache/shared-informers.ts';
import { waitForSync } from '../cache/wait-for-sync.ts';
import type { KubeClient } from '../client/client.ts';
import type { Reconcile, Result } from '../controller/controller.ts';
import { LeaderController, type LeaderControllerOptions } from '../controller/leader-controller.ts';
import { tellingRefusals } from '../controller/refusals.ts';
import type { EventRecorder } from '../events/events.ts';
import type { Task } from '../util/task-group.ts';

/** The start and the end of a controller's term. */
export interface TermOptions {
  /** The first keys, since a standby drops all events. */
  readonly keys: () => Iterable<ObjectKey>;
  /** Resolves when the data that a reconcile needs is available. */
  readonly after?: Task;
  /** Called when the last reconcile of a term has ended. */
  readonly ended?: () => void;
  /** The object that gets an Event when the API server refuses a request of the reconcile of a key. */
  readonly waiting?: (key: ObjectKey) => KubeObject | undefined;
}

/** The arguments of a reconcile. */
export interface ReconcileRequest<T extends KubeObject> {
  readonly key: ObjectKey;
  /** The cached object, read-only; undefined if it no longer exists. */
  readonly object: T | undefined;
  /** The leader's client: it refuses requests without the signal of the term. */
  readonly client: KubeClient;
  readonly signal: AbortSignal;
}

/** A controller of the objects of a resource. */
export interface ObjectController<T extends KubeObject> {
  /**
   * Watches objects whose controlling owner is one of this controller's objects: each change queues the owner's key.
   */
  owns<O extends KubeObject>(owned: Resource<O>, selection?: Selection<O>): ObjectController<T>;
  /** Sets the reconcile, which runs once the caches have synced. */
  reconcile(reconcile: (request: ReconcileRequest<T>) => Promise<Result | undefined>): void;
}

export interface ManagedControllerOptions extends LeaderControllerOptions {
  readonly informers: Informers;
  /** The leader's client. */
  readonly client: KubeClient;
  readonly events: EventRecorder;
}

/** A controller of a manager. It reconciles while this process leads, with a new queue for each term. */
export class ManagedController extends LeaderController {
  readonly #options: ManagedControllerOptions;
  #term: Task = async () => undefined;

  constructor(options: ManagedControllerOptions) {
    super(options);
    this.#options = options;
  }

  /**
   * Watches the resource: each change of an object queues its key. With `resyncMs` all keys are queued periodically,
   * too.
   */
  for<T extends KubeObject>(
    resource: Resource<T>,
    { resyncMs, ...selection }: Selection<T> & { readonly resyncMs?: number } = {},
  ): ObjectController<T> {
    const { informers, client } = this.#options;
    const objects = informers.informer(resource, selection);
    const caches: Pick<Informer<never>, 'waitForSync'>[] = [objects];
    const add = (object: T) => this.queue.add(keyOf(object));
    const handler = { onAdd: add, onUpdate: (_: T, object: T) => add(object), onDelete: add };
    objects.addEventHandler(handler, resyncMs === undefined ? {} : { resyncMs });
    const objectController: ObjectController<T> = {
      owns: (owned, ownedSelection) => {
        const cache = informers.informer(owned, ownedSelection);
        cache.addEventHandler(this.#ownerHandler(resource));
        caches.push(cache);
        return objectController;
      },
      reconcile: (reconcile) =>
        this.reconcile(
          async (key, signal) =>
            (await reconcile({ key, object: objects.lister.get(key), client, signal })) ?? {},
          {
            keys: () => objects.lister.list().map(keyOf),
            after: (signal) => waitForSync(caches, signal),
            waiting: (key) => asWaiting(resource, objects.lister.get(key)),
          },
        ),
    };
    return objectController;
  }

  /** Queues the keys of the owners of this resource. */
  #ownerHandler(resource: Resource<KubeObject>) {
    const add = (object: KubeObject) => {
      const owner = controllerOf(object);
      if (owner?.kind !== resource.kind || owner.apiVersion !== apiVersionOf(resource)) return;
      const { namespace } = resource.namespaced ? object.metadata : {};
      this.queue.add(keyOf({ metadata: { ...(namespace && { namespace }), name: owner.name } }));
    };
    const onUpdate = (previous: KubeObject, current: KubeObject) => {
      add(previous);
      add(current);
    };
    return { onAdd: add, onUpdate, onDelete: add };
  }

  /** Sets the reconcile. A controller without one does nothing. */
  reconcile(reconcile: Reconcile, { keys, after, ended, waiting = () => undefined }: TermOptions): void {
    const { events } = this.#options;
    const told = tellingRefusals(reconcile, events, waiting);
    this.#term = async (signal) => {
      await after?.(signal);
      if (signal.aborted) return;
      try {
        await this.lead(told, keys, signal);
      } finally {
        ended?.();
      }
    };
  }

  /** Runs one term. Called by the manager. */
  readonly run: Task = (signal) => this.#term(signal);
}

/** An object of a cache, which may lack its apiVersion and kind, as the object of an Event. */
export function asWaiting(
  resource: Resource<KubeObject>,
  object: KubeObject | undefined,
): KubeObject | undefined {
  return object && { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata: object.metadata };
}
