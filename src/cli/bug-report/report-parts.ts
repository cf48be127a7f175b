/** All files together, in bytes. */
const MAX_BYTES = 64 * 1024 * 1024;

/** The files of a bug report, and notes about what is missing. */
export class ReportParts {
  readonly #directory: string;
  readonly #files: ArchiveFile[] = [];
  readonly #notes: string[] = [];
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(directory: string, maxBytes = MAX_BYTES) {
    this.#directory = directory;
    this.#maxBytes = maxBytes;
  }

  /** Adds a file, unless the report would be too large. */
  add(path: string, content: string): void {
    const bytes = Buffer.byteLength(content);
    if (this.#bytes + bytes > this.#maxBytes) {
      this.note(`${path}: left out, because the report has more than ${this.#maxBytes} bytes`);
      return;
    }
    this.#bytes += bytes;
    this.#files.push({ path: `${this.#directory}/${short(path)}`, content });
  }

  note(text: string): void {
    this.#notes.push(text.replace(/\s+/g, ' ').trim());
  }

  /** What is missing, and why. */
  get notes(): readonly string[] {
    return this.#notes;
  }

  /** The archive, with the notes in `missing.txt`. `mtime` is in seconds since 1970; `finish` may change each file. */
  archive(mtime: number, finish = (text: string) => text): Buffer {
    const missing = {
      path: `${this.#directory}/missing.txt`,
      content: this.#notes.map((line) => `${line}\n`).join(''),
    };
    const files = [...this.#files, missing].map(({ path, content }) => ({ path, content: finish(content) }));
    return tarOf(files, mtime);
  }
}

/** The longest part of a path: of a longer name, the end is unique. */
const MAX_PART = 60;

function short(path: string): string {
  return path
    .split('/')
    .map((part) => part.slice(-MAX_PART))
    .join('/');
}

/** A file of an archive. Its path has at most 100 bytes below a directory of at most 155. */
interface ArchiveFile {
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
