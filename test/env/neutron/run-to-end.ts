import type { ProcessSpec } from '../control-plane/supervised-process.ts';
import type { Supervisor } from '../control-plane/supervisor.ts';

const QUOTED_LINES = 15;

/** Runs a program under the supervisor. Rejects with the end of its output where it does not end well. */
export async function runToEnd(supervisor: Supervisor, spec: ProcessSpec): Promise<void> {
  const lines: string[] = [];
  const onLine = (line: string) => {
    lines.push(line);
    if (lines.length > QUOTED_LINES) lines.shift();
  };
  const { code, signal } = await (await supervisor.start({ ...spec, output: { onLine } })).exited;
  if (code !== 0) {
    throw new Error(`${spec.name} ended with ${signal ?? `code ${code}`}:\n${lines.join('\n')}`);
  }
}
