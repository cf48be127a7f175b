/** A file of an archive. Its path has at most 100 bytes below a directory of at most 155. */
export interface ArchiveFile {
  readonly path: string;
  readonly content: string;
}

const BLOCK = 512;
const MODE = '0000600';

/**
 * The files as a tar archive (POSIX.1-1988 ustar). `mtime` is in seconds since 1970.
 * @throws RangeError for a path that is too long.
 */
export function tarOf(files: readonly ArchiveFile[], mtime: number): Buffer {
  const blocks = files.flatMap(({ path, content }) => {
    const body = Buffer.from(content);
    const padding = Buffer.alloc((BLOCK - (body.length % BLOCK)) % BLOCK);
    return [headerOf(path, body.length, mtime), body, padding];
  });
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]);
}

function headerOf(path: string, size: number, mtime: number): Buffer {
  const slash = path.lastIndexOf('/');
  const [prefix, name] = [path.slice(0, Math.max(0, slash)), path.slice(slash + 1)];
  if (Buffer.byteLength(prefix) > 155 || Buffer.byteLength(name) > 100)
    throw new RangeError(`expected a path of at most 155 and 100 bytes, got ${path}`);
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, digits: number) => value.toString(8).padStart(digits, '0');
  const fields: readonly (readonly [at: number, text: string])[] = [
    [0, name],
    [100, MODE],
    [108, octal(0, 7)],
    [116, octal(0, 7)],
    [124, octal(size, 11)],
    [136, octal(mtime, 11)],
    // The checksum counts as blanks while it is computed.
    [148, ' '.repeat(8)],
    [156, '0'],
    [257, 'ustar\0'],
    [263, '00'],
    [345, prefix],
  ];
  for (const [at, text] of fields) header.write(text, at);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${octal(sum, 6)}\0 `, 148);
  return header;
}
