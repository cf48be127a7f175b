/** The text of a file. A byte order mark stays. @throws Error that names the first byte that is not UTF-8. */
export function decodeText(bytes: Uint8Array): string {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  const again = new TextEncoder().encode(text);
  const wrong = bytes.findIndex((byte, index) => byte !== again[index]);
  if (wrong === -1) return text;
  const line = bytes.subarray(0, wrong).reduce((count, byte) => count + Number(byte === 0x0a), 1);
  const byte = bytes[wrong]?.toString(16).padStart(2, '0');
  throw new Error(`line ${line} has the byte 0x${byte}, which is not UTF-8: save it as UTF-8`);
}
