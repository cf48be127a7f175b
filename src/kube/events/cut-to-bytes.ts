const ELLIPSIS = '…';

/** The text, cut with an ellipsis to at most `maxBytes` bytes of UTF-8, between two characters. */
export function cutToBytes(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text;
  const room = new Uint8Array(maxBytes - Buffer.byteLength(ELLIPSIS));
  const { read } = new TextEncoder().encodeInto(text, room);
  return text.slice(0, read) + ELLIPSIS;
}
