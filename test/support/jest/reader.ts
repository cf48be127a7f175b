import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ensureBinaries } from '../../env/control-plane/build.ts';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { type CommandResult, runCommand } from '../../env/control-plane/run-command.ts';

/** Somebody who types what the documents say, in a checkout, with kubectl and envoy-initializer on the PATH. */
export class Reader {
  readonly #directory: string;
  readonly #env: Readonly<Record<string, string>>;

  private constructor(directory: string, env: Readonly<Record<string, string>>) {
    this.#directory = directory;
    this.#env = env;
  }

  static async at({ directory, kubeconfigPath }: ControlPlane): Promise<Reader> {
    const home = join(directory, 'reader');
    const bin = join(home, 'bin');
    await mkdir(bin, { recursive: true });
    // What a command writes must not be left in the checkout.
    for (const name of ['deploy', 'crd', 'docs']) {
      await symlink(join(projectDirectory(), name), join(home, name));
    }
    const program = join(bin, 'envoy-initializer');
    const main = join(projectDirectory(), 'dist/main.js');
    await writeFile(program, `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`);
    await chmod(program, 0o755);
    const { kubectl } = await ensureBinaries(process.env, process.stderr);
    const path = [bin, dirname(kubectl), process.env.PATH].join(':');
    return new Reader(home, { PATH: path, HOME: home, KUBECONFIG: kubeconfigPath });
  }

  /** Writes a file into the directory in which the commands are typed. */
  async save(name: string, text: string): Promise<void> {
    await writeFile(join(this.#directory, name), text);
  }

  /** Types it. What was printed is in one piece, as on a terminal. */
  async type(command: string): Promise<CommandResult> {
    const script = `cd '${this.#directory}' && { ${command}\n} 2>&1`;
    return await runCommand('bash', ['-o', 'pipefail', '-c', script], this.#env, '');
  }
}

/**
 * Whether that was printed, as a document has it: columns may be wider, ages are others, and `…` stands for anything, alone in a line also for several.
 */
export function isAsPrinted(documented: readonly string[], printed: string): boolean {
  const lines = documented.map((line) =>
    line === '…'
      ? '[\\s\\S]*?'
      : squeezed(line)
          .split(VARYING)
          .map((part, i) => (i % 2 === 0 ? escaped(part) : part === '…' ? '.*' : AGE))
          .join(''),
  );
  return new RegExp(`^${lines.join('\\n')}$`).test(printed.split('\n').map(squeezed).join('\n').trimEnd());
}

/** As kubectl writes them: 7s, 5m3s, 12d. */
const AGE = '\\d+[smhd](?:\\d+[smh])?';
const VARYING = new RegExp(`(…|(?<![\\w.])${AGE}(?![\\w.]))`);

function squeezed(line: string): string {
  return line.trimEnd().replaceAll(/ {2,}/g, ' ');
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
