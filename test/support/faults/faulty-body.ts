import type { ServerResponse } from 'node:http';
import type { BodyFault } from './fault.ts';

const NEWLINE = 10;

/** Writes the body of an answer, until the fault strikes in the midst of it. */
export class FaultyBody {
  readonly #response: ServerResponse;
  readonly #fault: BodyFault;
  readonly #unit: 'lines' | 'kilobytes';
  /** Units until the fault strikes. */
  #left: number;
  #struck = false;
  #isLosingLine = false;
  /** What is left to drip. */
  #held = Buffer.alloc(0);

  constructor(response: ServerResponse, fault: BodyFault, unit: 'lines' | 'kilobytes') {
    this.#response = response;
    this.#fault = fault;
    this.#unit = unit;
    this.#left = fault.after;
  }

  write(chunk: Buffer): void {
    const at = this.#struck ? 0 : this.#before(chunk);
    this.#send(chunk.subarray(0, at));
    if (at === chunk.length) return;
    this.strike();
    const rest = chunk.subarray(at);
    this.#send(this.#isLosingLine ? this.#lose(rest) : rest);
  }

  end(): void {
    // An answer that is shorter than the fault would have it.
    this.strike();
    if (!this.#isStalled && !this.#isDripping) this.#response.end();
  }

  /** Does what the fault says, once. */
  strike(): void {
    if (this.#struck) return;
    this.#struck = true;
    switch (this.#fault.kind) {
      case 'cut':
        this.#response.socket?.destroy();
        return;
      case 'end':
        this.#response.end();
        return;
      case 'stall':
        return;
      case 'drip':
        this.#drip(this.#fault.everyMs);
        return;
      case 'truncate':
        this.#isLosingLine = true;
        return;
      case 'insert':
        this.#response.write(this.#fault.text);
    }
  }

  get #isStalled(): boolean {
    return this.#struck && this.#fault.kind === 'stall';
  }

  get #isDripping(): boolean {
    return this.#struck && this.#fault.kind === 'drip';
  }

  #drip(everyMs: number): void {
    const timer = setInterval(() => {
      if (this.#response.destroyed) clearInterval(timer);
      else this.#response.write(this.#held.subarray(0, 1));
      this.#held = this.#held.subarray(1);
    }, everyMs);
  }

  /** How much of the chunk passes before the fault strikes. */
  #before(chunk: Buffer): number {
    if (this.#unit === 'kilobytes') {
      const at = Math.min(chunk.length, Math.floor(this.#left * 1024));
      this.#left -= chunk.length / 1024;
      return at;
    }
    let at = 0;
    for (; this.#left > 0; this.#left--) {
      const end = chunk.indexOf(NEWLINE, at);
      if (end < 0) return chunk.length;
      at = end + 1;
    }
    return at;
  }

  /** What is left of it: nothing but a beginning, and what comes after the line. */
  #lose(bytes: Buffer): Buffer {
    const end = bytes.indexOf(NEWLINE);
    this.#isLosingLine = end < 0;
    return end < 0 ? bytes.subarray(0, 8) : Buffer.concat([bytes.subarray(0, end / 2), bytes.subarray(end)]);
  }

  #send(bytes: Buffer): void {
    const isOpen = !this.#isStalled && !this.#response.writableEnded && !this.#response.destroyed;
    if (this.#isDripping) this.#held = Buffer.concat([this.#held, bytes]);
    else if (isOpen && bytes.length > 0) this.#response.write(bytes);
  }
}
