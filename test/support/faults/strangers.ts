import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

/** What a client without credentials does at the webhook's port; hardly one hangs up by itself. */
export type StrangerKind =
  /** All of 6.9 MB but the last byte, and `?timeout=30s`. */
  | 'slow body'
  /** As much is declared, and next to nothing is sent. */
  | 'declared body'
  /** As much, in a chunk that is not declared. */
  | 'chunked body'
  /** 300,000 chunks of a byte. */
  | 'body in tiny pieces'
  /** 6.9 MB of `{}`, in a namespace that is made up; it hangs up when it is answered. */
  | 'dense review'
  | 'slow head'
  /** After an answer on the same connection. */
  | 'slow second head'
  /** 50,000 calls, and no answer is read. */
  | 'unread answers'
  | 'silent TLS'
  | 'silent TCP'
  | 'half handshake';

/** What a test asks of the process of the strangers. */
export interface StrangerOrder {
  readonly kind: StrangerKind;
  readonly count: number;
  readonly port: number;
}

/** What the process tells: connections open now, or that the server has closed all and how long the longest lived. */
export type StrangerReport =
  | { readonly what: 'open'; readonly open: number }
  | { readonly what: 'closed'; readonly longestMs: number };

/** So many strangers of a kind, from a process of their own. */
export class Strangers {
  readonly #process: ChildProcess;
  /** Resolves once the server has closed every connection, with the milliseconds that the longest lived. */
  readonly closed: Promise<number>;
  isClosed = false;
  /** Connections that are open now, and were at most. */
  open = 0;
  mostOpen = 0;

  constructor(order: StrangerOrder) {
    this.#process = fork(new URL('stranger-process.js', import.meta.url));
    this.closed = new Promise((resolve) => {
      this.#process.on('message', (report: StrangerReport) => {
        if (report.what === 'open') {
          this.open = report.open;
          this.mostOpen = Math.max(this.mostOpen, report.open);
        } else {
          this.isClosed = true;
          resolve(report.longestMs);
        }
      });
    });
    this.#process.send(order);
  }

  /** Resolves once so many of them are connected, whatever has become of them since. */
  async arrived(count: number): Promise<void> {
    while (this.mostOpen < count && !this.isClosed) await once(this.#process, 'message');
  }

  async leave(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const gone = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await gone;
  }
}
