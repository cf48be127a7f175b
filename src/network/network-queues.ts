import type { ObjectKey } from '../kube/api/object.ts';
import type { Reconcile } from '../kube/controller/controller.ts';
import type { LeaderController, MakeController } from '../kube/controller/leader-controller.ts';
import { type Task, together } from '../kube/util/together.ts';

export interface NetworkWorkOptions {
  readonly makeController: MakeController;
  /** Of each of the two. */
  readonly workers: number;
  /** Whether the Network of the key is with a provider outside of the cluster. */
  readonly isRemote: (key: ObjectKey) => boolean;
}

/** The controller of Networks, twice: those that are made elsewhere are apart, and however slow it is there, no other waits. */
export class NetworkQueues {
  readonly #near: LeaderController;
  readonly #remote: LeaderController;
  readonly #isRemote: NetworkWorkOptions['isRemote'];

  constructor({ makeController, workers, isRemote }: NetworkWorkOptions) {
    this.#near = makeController('network', workers);
    this.#remote = makeController('remote-network', workers);
    this.#isRemote = isRemote;
  }

  /** For event handlers. */
  readonly queue = {
    add: (key: ObjectKey): void => this.#of(key).queue.add(key),
    addAfter: (key: ObjectKey, delayMs: number): void => this.#of(key).queue.addAfter(key, delayMs),
  };

  /** Reconciles, first all these keys, until the signal aborts and what runs has ended. */
  async run(reconcile: Reconcile, keys: Iterable<ObjectKey>, signal: AbortSignal): Promise<void> {
    const all = [...keys];
    const run = (work: LeaderController): Task => {
      const own: Reconcile = async (key, stop) => {
        if (this.#of(key) === work) return reconcile(key, stop);
        // Its name is another Network's by now, or nobody's.
        this.queue.add(key);
        return {};
      };
      const keysOfWork = all.filter((key) => this.#of(key) === work);
      return (running) => work.run(own, keysOfWork, running);
    };
    await together(signal, [run(this.#near), run(this.#remote)]);
  }

  /** For /debug/controllers. */
  debug(): readonly unknown[] {
    return [this.#near.debug(), this.#remote.debug()];
  }

  #of(key: ObjectKey): LeaderController {
    return this.#isRemote(key) ? this.#remote : this.#near;
  }
}
