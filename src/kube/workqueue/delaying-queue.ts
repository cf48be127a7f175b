import type { Timer } from './clock.ts';
import { DeadlineHeap } from './deadline-heap.ts';
import { Queue } from './queue.ts';

/** A queue to which keys can be added with a delay (client-go `util/workqueue/delaying_queue.go`). */
export class DelayingQueue<K> extends Queue<K> {
  readonly #waiting = new DeadlineHeap<K>();
  /** Set for the earliest deadline, if any. */
  #timer: Timer | undefined;

  /**
   * Adds the key after `delayMs`, or at once if that is not above 0. A key waits once: of two deadlines, the earlier
   * one counts. Shutdown drops the keys that still wait.
   */
  addAfter(key: K, delayMs: number): void {
    if (this.shuttingDown) return;
    this.metrics?.retried();
    // Not `delayMs <= 0`, which is false for NaN.
    if (!(delayMs > 0)) this.add(key);
    else if (this.#waiting.put(key, this.clock.now() + delayMs)) this.#setTimer();
  }

  override shutDown(): void {
    this.#dropWaiting();
    super.shutDown();
  }

  override shutDownWithDrain(): Promise<void> {
    this.#dropWaiting();
    return super.shutDownWithDrain();
  }

  #addDue(): void {
    const now = this.clock.now();
    for (let key = this.#waiting.takeDue(now); key !== undefined; key = this.#waiting.takeDue(now)) {
      this.add(key);
    }
    this.#setTimer();
  }

  #setTimer(): void {
    this.#timer?.cancel();
    const { next } = this.#waiting;
    this.#timer =
      next === undefined ? undefined : this.clock.setTimer(next - this.clock.now(), () => this.#addDue());
  }

  #dropWaiting(): void {
    this.#waiting.clear();
    this.#setTimer();
  }
}
