import { linkedAbort } from './linked-abort.ts';

/** Work that ends soon after its signal aborts. */
export type Task = (signal: AbortSignal) => Promise<unknown>;

/**
 * Runs the tasks under one signal, which aborts with the outer one. The first failure aborts it too. Settles only when
 * every task has ended: resolves, or rejects with the first failure.
 */
export async function runTaskGroup(outer: AbortSignal, tasks: readonly Task[]): Promise<void> {
  const { controller, unlink } = linkedAbort(outer);
  const failures: unknown[] = [];
  const run = async (task: Task) => {
    try {
      await task(controller.signal);
    } catch (error) {
      failures.push(error);
      controller.abort(error);
    }
  };
  await Promise.all(tasks.map(run));
  unlink();
  if (failures.length > 0) throw failures[0];
}
