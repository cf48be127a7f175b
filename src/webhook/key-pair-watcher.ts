import { watch } from 'node:fs';
import { dirname } from 'node:path';
import { Bell } from '../workqueue/bell.ts';
import { type KeyPair, type KeyPairFiles, loadKeyPair } from './key-pair.ts';

/** Should the file system not tell of a change (an NFS volume, no inotify left), it is found by then. */
const POLL_MS = 30_000;

interface KeyPairWatcherOptions {
  readonly files: KeyPairFiles;
  /** What is in use at the start; undefined where nothing is. */
  readonly current: KeyPair | undefined;
  /** Told of another good key pair. */
  readonly changed: (keyPair: KeyPair) => void;
  /** Told when the files are not good, while the last good ones stay in use, and when watching fails. */
  readonly failed: (err: unknown) => void;
}

/**
 * Follows the files of a key pair. Their directories are watched rather than the files: the kubelet swaps a
 * Secret's whole directory behind a symbolic link (`..data`), and the files themselves never change.
 */
export class KeyPairWatcher {
  readonly #options: KeyPairWatcherOptions;
  #current: KeyPair | undefined;

  constructor(options: KeyPairWatcherOptions) {
    this.#options = options;
    this.#current = options.current;
  }

  /** Runs until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const bell = new Bell();
    const { certFile, keyFile } = this.#options.files;
    for (const directory of new Set([dirname(certFile), dirname(keyFile)])) {
      this.#watch(directory, bell, signal);
    }
    while (!signal.aborted) {
      await this.#reload();
      await bell.next(POLL_MS, signal);
    }
  }

  #watch(directory: string, bell: Bell, signal: AbortSignal): void {
    try {
      const watcher = watch(directory, { signal, persistent: false }, () => bell.ring());
      watcher.on('error', this.#options.failed);
    } catch (err) {
      this.#options.failed(err);
    }
  }

  async #reload(): Promise<void> {
    try {
      const keyPair = await loadKeyPair(this.#options.files);
      if (keyPair.cert === this.#current?.cert && keyPair.key === this.#current.key) return;
      this.#options.changed(keyPair);
      this.#current = keyPair;
    } catch (err) {
      this.#options.failed(err);
    }
  }
}
