import { ByteGatherer } from './byte-gatherer.ts';

const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c];
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d];
/** Longest accepted object, in bytes: the largest that etcd stores (1.5 MiB), with room for escapes. */
export const MAX_OBJECT_BYTES = 16 * 1024 * 1024;
/** Longest accepted frame, in bytes: each item adds two bytes, so this bounds a list to a million items. */
const MAX_FRAME_BYTES = 2 * 1024 * 1024;
/** The text before the array of items. Inside a string, the quotes would have a backslash. */
const ITEMS_KEY = /[{,]\s*"items"\s*:\s*\[$/;
const TAIL_BYTES = 64;
const [PLACEHOLDER, SEPARATOR] = [Buffer.from('0'), Buffer.from(',')];
const BLANK = /^[ \t\n\r]*$/;

/**
 * Splits the JSON text of a list into the texts of its items while its bytes arrive: it holds one item, never the list.
 * The rest of the list is its frame, with `0` in place of each item. The scanner does not check the grammar: the list
 * is JSON exactly when its frame and each of its items are.
 */
export class ListScanner {
  readonly #onItem: (text: string) => void;
  readonly #frame = new ByteGatherer('a list without its items', MAX_FRAME_BYTES);
  readonly #item = new ByteGatherer('an item of the list', MAX_OBJECT_BYTES);
  #depth = 0;
  #inItems = false;
  #inString = false;
  #isEscaped = false;

  constructor(onItem: (text: string) => void) {
    this.#onItem = onItem;
  }

  /** @throws TransportError `ETOOLARGE`; what `onItem` throws. */
  write(chunk: Buffer): void {
    // This loop sees every byte of a list: local variables are faster than fields.
    let [depth, inItems, inString, isEscaped] = [this.#depth, this.#inItems, this.#inString, this.#isEscaped];
    let start = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at];
      if (inString) {
        if (isEscaped) isEscaped = false;
        else if (byte === BACKSLASH) isEscaped = true;
        else if (byte === QUOTE) inString = false;
      } else if (byte === QUOTE) {
        inString = true;
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        depth++;
        if (depth !== 2 || inItems) continue;
        this.#frame.append(chunk.subarray(start, at + 1));
        start = at + 1;
        inItems = ITEMS_KEY.test(this.#frame.tail(TAIL_BYTES));
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        depth--;
        if (depth !== 1 || !inItems) continue;
        this.#endItem(chunk.subarray(start, at));
        start = at;
        inItems = false;
      } else if (byte === COMMA && inItems && depth === 2) {
        this.#endItem(chunk.subarray(start, at));
        this.#frame.append(SEPARATOR);
        start = at + 1;
      }
    }
    (inItems ? this.#item : this.#frame).append(chunk.subarray(start));
    [this.#depth, this.#inItems, this.#inString, this.#isEscaped] = [depth, inItems, inString, isEscaped];
  }

  /** Returns the frame. Call it after the last byte. */
  end(): string {
    return this.#frame.take();
  }

  #endItem(rest: Buffer): void {
    let text: string;
    if (this.#item.length === 0) text = rest.toString();
    else {
      this.#item.append(rest);
      text = this.#item.take();
    }
    if (BLANK.test(text)) return;
    this.#onItem(text);
    this.#frame.append(PLACEHOLDER);
  }
}
