/** The encodings that a byte order mark announces, as kubectl reads them. */
const MARKS: readonly (readonly [string, readonly [number, number]])[] = [
  ['utf-16le', [0xff, 0xfe]],
  ['utf-16be', [0xfe, 0xff]],
];

/**
 * The text of a file: UTF-8, or UTF-16 if it begins with a byte order mark. A mark of UTF-8 stays.
 * @throws Error that names the first byte that is not UTF-8.
 */
export function decodeText(bytes: Uint8Array): string {
  const [marked] = MARKS.find(([, mark]) => mark.every((byte, index) => bytes[index] === byte)) ?? [];
  if (marked !== undefined) {
    try {
      return new TextDecoder(marked, { fatal: true }).decode(bytes);
    } catch (cause) {
      throw new Error(`it begins like ${marked.toUpperCase()} text, but is not: save it as UTF-8`, { cause });
    }
  }
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  const again = new TextEncoder().encode(text);
  const wrong = bytes.findIndex((byte, index) => byte !== again[index]);
  if (wrong === -1) return text;
  const line = bytes.subarray(0, wrong).reduce((count, byte) => count + Number(byte === 0x0a), 1);
  const byte = bytes[wrong]?.toString(16).padStart(2, '0');
  throw new Error(`line ${line} has the byte 0x${byte}, which is not UTF-8: save it as UTF-8`);
}
