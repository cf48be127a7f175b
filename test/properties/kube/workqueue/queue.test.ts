import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { WorkQueue } from '../../../../src/kube/workqueue/queue.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

/** The queue under test, and a model of its documented behaviour. */
class Model {
  readonly clock = new FakeClock();
  readonly queue = new WorkQueue<string>({ clock: this.clock });
  readonly inWork = new Set<string>();
  /** Keys added, at once or with a delay, since they were last handed out. */
  readonly owed = new Set<string>();

  add(key: string): void {
    this.owed.add(key);
    this.queue.add(key);
  }

  addAfter(key: string, delayMs: number): void {
    this.owed.add(key);
    this.queue.addAfter(key, delayMs);
  }

  async take(): Promise<void> {
    if (this.queue.length === 0) return;
    const key = (await this.queue.get()) ?? '';
    expect(this.inWork.has(key)).toBe(false);
    this.inWork.add(key);
    this.owed.delete(key);
  }

  done(key: string): void {
    this.inWork.delete(key);
    this.queue.done(key);
  }

  /** Advances time past all delays, and works off all keys. */
  async finish(): Promise<void> {
    this.clock.advance(1000);
    while (this.queue.length > 0 || this.inWork.size > 0) {
      for (const key of this.inWork) this.done(key);
      await this.take();
    }
  }
}

const key = fc.constantFrom('a', 'b', 'c', 'd');
const step = fc.oneof(
  key.map((k) => (model: Model) => model.add(k)),
  fc.tuple(key, fc.integer({ min: -1, max: 100 })).map(
    ([k, ms]) =>
      (model: Model) =>
        model.addAfter(k, ms),
  ),
  key.map((k) => (model: Model) => model.done(k)),
  fc.integer({ min: 0, max: 60 }).map((ms) => (model: Model) => model.clock.advance(ms)),
  fc.constant((model: Model) => model.take()),
);

test('no sequence of calls makes a workqueue hand out a key twice at once, or lose an added key', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const model = new Model();
      for (const run of steps) await run(model);
      await model.finish();
      expect(model.owed).toEqual(new Set());
      expect(model.clock.pendingTimers).toBe(0);
    }),
  );
});
