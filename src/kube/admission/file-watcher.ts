import { watch } from 'node:fs';
import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Trigger } from '../workqueue/trigger.ts';

/** Should the file system not tell of a change (an NFS volume, no inotify left), it is found by then. */
const POLL_MS = 30_000;

interface FileWatcherOptions<T> {
  readonly files: readonly string[];
  /** Reads what is in the files; rejects when it is of no use. */
  readonly load: () => Promise<T>;
  /** What is in use at the start; undefined where nothing is. */
  readonly current: T | undefined;
  /** Told of other good content. */
  readonly changed: (content: T) => void;
  /** Told when the files are not good, while the last good content stays in use, and when watching fails. */
  readonly failed: (err: unknown) => void;
}

/**
 * Follows files that belong together. Their directories are watched rather than the files: the kubelet swaps a
 * Secret's whole directory behind a symbolic link (`..data`), and the files themselves never change.
 */
export class FileWatcher<T> {
  readonly #options: FileWatcherOptions<T>;
  #current: T | undefined;

  constructor(options: FileWatcherOptions<T>) {
    this.#options = options;
    this.#current = options.current;
  }

  /** Runs until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const trigger = new Trigger();
    for (const directory of new Set(this.#options.files.map((file) => dirname(file)))) {
      this.#watch(directory, trigger, signal);
    }
    while (!signal.aborted) {
      await this.#reload();
      await trigger.next(POLL_MS, signal);
    }
  }

  #watch(directory: string, trigger: Trigger, signal: AbortSignal): void {
    try {
      const watcher = watch(directory, { signal, persistent: false }, () => trigger.fire());
      watcher.on('error', this.#options.failed);
    } catch (err) {
      this.#options.failed(err);
    }
  }

  async #reload(): Promise<void> {
    try {
      const content = await this.#options.load();
      if (isDeepStrictEqual(content, this.#current)) return;
      this.#options.changed(content);
      this.#current = content;
    } catch (err) {
      this.#options.failed(err);
    }
  }
}
