import { watch } from 'node:fs';
import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Trigger } from '../workqueue/trigger.ts';

/** Finds changes that the file system does not report (an NFS volume, no inotify instance left). */
const POLL_MS = 30_000;

interface FileWatcherOptions<T> {
  readonly files: readonly string[];
  /** Reads the content of the files; rejects if it is invalid. */
  readonly load: () => Promise<T>;
  /** The content in use at the start, if any. */
  readonly current: T | undefined;
  /** Called with new valid content. */
  readonly changed: (content: T) => void;
  /** Called if the files are invalid, while the last valid content stays in use, and if watching fails. */
  readonly failed: (err: unknown) => void;
}

/**
 * Follows files that belong together. It watches their directories, not the files: the kubelet swaps a Secret's whole
 * directory behind a symbolic link (`..data`), and the files themselves never change.
 */
export class FileWatcher<T> {
  readonly #options: FileWatcherOptions<T>;
  #current: T | undefined;

  constructor(options: FileWatcherOptions<T>) {
    this.#options = options;
    this.#current = options.current;
  }

  /** Runs until the signal aborts. */
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
