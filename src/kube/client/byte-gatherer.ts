import { StringDecoder } from 'node:string_decoder';
import { TransportError } from '../api/api-error.ts';

/**
 * In bytes. A long text is kept in blocks of one size, because memory of many sizes does not return to the system: reads
 * of a thousand texts of 800 kB left 30 MB of holes.
 */
const BLOCK = 64 * 1024;

/** Joins a text from pieces of its bytes, of any size, in memory of a few times its length. */
export class ByteGatherer {
  readonly #what: string;
  readonly #maxBytes: number;
  /** The full blocks before the last one. */
  #full: Buffer[] = [];
  #last = Buffer.alloc(0);
  /** How much of the last block is used. */
  #used = 0;
  #length = 0;

  /** `what` names the text in the error for a text longer than `maxBytes`. */
  constructor(what: string, maxBytes: number) {
    this.#what = what;
    this.#maxBytes = maxBytes;
  }

  get length(): number {
    return this.#length;
  }

  /** @throws TransportError `ETOOLARGE`. */
  append(piece: Uint8Array): void {
    this.#length += piece.length;
    if (this.#length > this.#maxBytes) {
      const message = `expected ${this.#what} of at most ${this.#maxBytes} bytes, got more`;
      throw new TransportError(message, 'ETOOLARGE', undefined);
    }
    for (let rest = piece; rest.length > 0; ) {
      if (this.#used === this.#last.length) this.#grow(rest.length);
      const part = rest.subarray(0, this.#last.length - this.#used);
      this.#last.set(part, this.#used);
      this.#used += part.length;
      rest = rest.subarray(part.length);
    }
  }

  /** The last bytes, at most `count`, as text. */
  tail(count: number): string {
    const last = this.#last.subarray(0, this.#used);
    const before = this.#full.at(-1)?.subarray(-count) ?? Buffer.alloc(0);
    return Buffer.concat([before, last]).subarray(-count).toString();
  }

  /** Returns the whole text, and starts a new one. */
  take(): string {
    const last = this.#last.subarray(0, this.#used);
    const decoder = new StringDecoder('utf8');
    const text =
      this.#full.length === 0
        ? last.toString()
        : [...this.#full.map((block) => decoder.write(block)), decoder.end(last)].join('');
    this.#full = [];
    this.#used = 0;
    this.#length = 0;
    return text;
  }

  /** Makes room for at least one byte. */
  #grow(needed: number): void {
    if (this.#last.length >= BLOCK) {
      this.#full.push(this.#last);
      this.#last = Buffer.alloc(BLOCK);
      this.#used = 0;
      return;
    }
    const larger = Buffer.alloc(Math.min(BLOCK, 2 * (this.#used + needed)));
    larger.set(this.#last);
    this.#last = larger;
  }
}
