import { StringDecoder } from 'node:string_decoder';

/** Longest accepted line, in characters: the largest object that etcd stores (1.5 MiB), with room for escapes. */
const MAX_LINE_LENGTH = 16 * 1024 * 1024;

/** A line of the stream violates the protocol; the position in the stream is lost. */
export class MalformedLineError extends Error {
  override readonly name = 'MalformedLineError';
}

/**
 * Splits a byte stream into lines and parses each as JSON. Joins a character that the end of a chunk has cut.
 * A last line without a newline means a cut stream: it is dropped, since the server sends it again.
 * @throws MalformedLineError for a line that is not JSON or is longer than 16 Mi characters.
 */
export async function* jsonLines(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<unknown, void, undefined> {
  const decoder = new StringDecoder('utf8');
  // Pieces of an unfinished line are joined once, at its end, so that a large object is not copied for each chunk.
  let pieces: string[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    const text = decoder.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    let start = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
      const line = pieces.length === 0 ? text.slice(start, end) : pieces.join('') + text.slice(start, end);
      pieces = [];
      length = 0;
      start = end + 1;
      if (line.trim() !== '') yield parse(line);
    }
    if (start < text.length) pieces.push(text.slice(start));
    length += text.length - start;
    if (length > MAX_LINE_LENGTH)
      throw new MalformedLineError(`expected a line of at most ${MAX_LINE_LENGTH} characters, got more`);
  }
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw new MalformedLineError(`expected a line of JSON, got ${JSON.stringify(line.slice(0, 80))}`, {
      cause,
    });
  }
}
