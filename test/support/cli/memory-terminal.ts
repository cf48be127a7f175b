import type { Terminal } from '../../../src/cli/io/terminal.ts';

/** Files and streams of a command, in memory. */
export class MemoryTerminal implements Terminal {
  readonly files: Map<string, string>;
  stdout = '';
  stderr = '';

  constructor(files: Readonly<Record<string, string>> = {}) {
    this.files = new Map(Object.entries(files));
  }

  async read(file: string): Promise<string> {
    const text = this.files.get(file);
    if (text === undefined) throw Object.assign(new Error(`ENOENT: ${file}`), { code: 'ENOENT' });
    return text;
  }

  out(text: string): void {
    this.stdout += text;
  }

  err(text: string): void {
    this.stderr += text;
  }
}
