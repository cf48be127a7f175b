const ELLIPSIS = '…';

/** The text, or as much of its beginning as fits with an ellipsis into so many bytes of UTF-8; no character is cut in two. */
export function cutToBytes(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text;
  const room = new Uint8Array(maxBytes - Buffer.byteLength(ELLIPSIS));
  const { read } = new TextEncoder().encodeInto(text, room);
  return text.slice(0, read) + ELLIPSIS;
}
