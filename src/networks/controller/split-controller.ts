import type { ObjectKey } from '../../kube/api/object.ts';
import type { Controller, Reconcile, TermOptions } from '../../kube/controller/controller.ts';
import type { Manager } from '../../kube/manager/manager.ts';

/**
 * Two queues for Networks, or for pods on them: those of remote providers have their own, so that a slow provider does not delay the
 * others.
 */
export class SplitController {
  readonly #near: Controller;
  readonly #remote: Controller;
  readonly #isRemote: (key: ObjectKey) => boolean;

  /** `isRemote`: whether the provider of the object is outside of the cluster. Its queue has the prefix `remote-`. */
  constructor(manager: Manager, name: string, workers: number, isRemote: (key: ObjectKey) => boolean) {
    this.#near = manager.controller(name, workers);
    this.#remote = manager.controller(`remote-${name}`, workers);
    this.#isRemote = isRemote;
  }

  /** Adds keys to the queue they belong to. For event handlers. */
  readonly queue = {
    add: (key: ObjectKey): void => this.#of(key).queue.add(key),
    addAfter: (key: ObjectKey, delayMs: number): void => this.#of(key).queue.addAfter(key, delayMs),
  };

  /** Sets the reconcile function of both queues. */
  reconcile(reconcile: Reconcile, { keys, ...options }: TermOptions): void {
    for (const work of [this.#near, this.#remote]) {
      const own: Reconcile = async (key, signal) => {
        if (this.#of(key) === work) return reconcile(key, signal);
        // Another object may have the name now, or none.
        this.queue.add(key);
        return {};
      };
      const keysOfWork = () => [...keys()].filter((key) => this.#of(key) === work);
      work.reconcile(own, { ...options, keys: keysOfWork });
    }
  }

  #of(key: ObjectKey): Controller {
    return this.#isRemote(key) ? this.#remote : this.#near;
  }
}
