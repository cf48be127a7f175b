/** An input is at most this long, in bytes. */
export const MAX_BYTES = 32 * 1024 * 1024;

/** All bytes of a stream. @throws Error if they are too many. */
export async function gather(stream: AsyncIterable<Uint8Array>, maxBytes = MAX_BYTES): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of stream) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > maxBytes) throw new Error(`it has more than ${maxBytes} bytes: split the input`);
  }
  return Buffer.concat(chunks);
}
