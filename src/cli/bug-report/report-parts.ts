import { type ArchiveFile, tarOf } from './tar.ts';

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
