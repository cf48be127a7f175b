import { type ChildProcess, spawn } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';
import { eventually } from '../../env/eventually.ts';

/** An interactive shell on a terminal, and what it shows. */
export class TypedShell {
  readonly #process: ChildProcess;
  #shown = '';

  /** `line` starts the shell. */
  constructor(line: string, env: Readonly<Record<string, string>>) {
    // script gives it a terminal.
    this.#process = spawn('script', ['--quiet', '--return', '--command', line, '/dev/null'], { env });
    this.#process.stdout?.on('data', (chunk) => (this.#shown += stripVTControlCharacters(String(chunk))));
  }

  /** Types keys, and waits until the shell has shown this since. */
  async type(keys: string, expected: string): Promise<void> {
    const from = this.#shown.length;
    this.#process.stdin?.write(keys);
    await eventually(`${JSON.stringify(keys)} shows ${expected}`, async () =>
      this.#shown.slice(from).includes(expected),
    ).catch((cause: unknown) => {
      throw new Error(`expected ${expected}, got ${JSON.stringify(this.#shown.slice(from))}`, { cause });
    });
  }

  kill(): void {
    this.#process.kill('SIGKILL');
  }
}
