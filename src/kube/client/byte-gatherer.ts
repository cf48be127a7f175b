import { TransportError } from '../api/api-error.ts';

/** Joins a text from pieces of its bytes, of any size, in memory of a few times its length. */
export class ByteGatherer {
  readonly #what: string;
  readonly #maxBytes: number;
  #bytes = Buffer.alloc(0);
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
    const length = this.#length + piece.length;
    if (length > this.#maxBytes) {
      const message = `expected ${this.#what} of at most ${this.#maxBytes} bytes, got more`;
      throw new TransportError(message, 'ETOOLARGE', undefined);
    }
    if (length > this.#bytes.length) {
      const larger = Buffer.alloc(2 * length);
      larger.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = larger;
    }
    this.#bytes.set(piece, this.#length);
    this.#length = length;
  }

  /** The last bytes, at most `count`, as text. */
  tail(count: number): string {
    return this.#bytes.toString('utf8', Math.max(0, this.#length - count), this.#length);
  }

  /** Returns the whole text, and starts a new one. */
  take(): string {
    const text = this.#bytes.toString('utf8', 0, this.#length);
    this.#length = 0;
    return text;
  }
}
