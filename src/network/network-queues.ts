import type { ObjectKey } from '../kube/api/object.ts';
import type { Reconcile } from '../kube/controller/controller.ts';
import type { ManagedController, TermOptions } from '../kube/manager/managed-controller.ts';
import type { Manager } from '../kube/manager/manager.ts';

export interface NetworkQueuesOptions {
  /** Of each of the two. */
  readonly workers: number;
  /** Whether the Network of the key is with a provider outside of the cluster. */
  readonly isRemote: (key: ObjectKey) => boolean;
}

/** The controller of Networks, twice: those that are made elsewhere are apart, and however slow it is there, no other waits. */
export class NetworkQueues {
  readonly #near: ManagedController;
  readonly #remote: ManagedController;
  readonly #isRemote: NetworkQueuesOptions['isRemote'];

  constructor(manager: Manager, { workers, isRemote }: NetworkQueuesOptions) {
    this.#near = manager.controller('network', workers);
    this.#remote = manager.controller('remote-network', workers);
    this.#isRemote = isRemote;
  }

  /** For event handlers. */
  readonly queue = {
    add: (key: ObjectKey): void => this.#of(key).queue.add(key),
    addAfter: (key: ObjectKey, delayMs: number): void => this.#of(key).queue.addAfter(key, delayMs),
  };

  /** Sets what is done for a key of either. */
  reconcile(reconcile: Reconcile, { keys, ...options }: TermOptions): void {
    for (const work of [this.#near, this.#remote]) {
      const own: Reconcile = async (key, signal) => {
        if (this.#of(key) === work) return reconcile(key, signal);
        // Its name is another Network's by now, or nobody's.
        this.queue.add(key);
        return {};
      };
      const keysOfWork = () => [...keys()].filter((key) => this.#of(key) === work);
      work.reconcile(own, { ...options, keys: keysOfWork });
    }
  }

  #of(key: ObjectKey): ManagedController {
    return this.#isRemote(key) ? this.#remote : this.#near;
  }
}
