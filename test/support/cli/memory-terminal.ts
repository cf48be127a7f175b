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

  async list(path: string, recursive: boolean): Promise<readonly string[] | undefined> {
    const inside = [...this.files.keys()].filter((file) => file.startsWith(`${path}/`)).sort();
    if (inside.length === 0) return undefined;
    return inside.filter((file) => recursive || !file.slice(path.length + 1).includes('/'));
  }

  out(text: string): void {
    this.stdout += text;
  }

  err(text: string): void {
    this.stderr += text;
  }
}
