import { expect } from '@jest/globals';
import type { CommandResult } from '../../env/control-plane/run-command.ts';
import { eventually } from '../../env/eventually.ts';
import { commandsOf, documents, section } from './markdown.ts';
import { isAsPrinted } from './reader.ts';

/** The text of a document of the project, such as `docs/cli.md`. */
export const textOf = (path: string) => documents().find((document) => document.path === path)?.text ?? '';

/** Commands that only look: who has typed too early types them again. */
const LOOKING = /^(kubectl (get|events|wait|describe|exec) |envoy-initializer (check|drift) )/;
/** Each attempt starts a program; pods of a busy node take their time. */
const PATIENCE = { boundMs: 120_000, everyMs: 500 };
/** How many of many requests one of several versions has answered: another number each time. */
const COUNT = /^ *\d+ (?=v\d$)/gm;

/**
 * Types all commands of a section in their order, `between` after the first; each has to print what the document says, or
 * to work where that says nothing.
 */
export async function follow(
  reader: { type(command: string): Promise<CommandResult> },
  path: string,
  heading: string,
  between: () => Promise<void> = async () => {},
): Promise<void> {
  const commands = commandsOf(section(textOf(path), heading));
  expect(commands.length).toBeGreaterThan(0);
  for (const [i, { command, output }] of commands.entries()) {
    if (i === 1) await between();
    const expected = [`$ ${command}`, ...output].join('\n');
    let seen = '';
    const attempt = async () => {
      const { stdout: printed, code } = await reader.type(command);
      // Older API servers print the type of what a rule refuses.
      const stdout = printed.replaceAll('Invalid value: "object": ', 'Invalid value: ');
      const isRight =
        output.length === 0
          ? code === 0
          : isAsPrinted(uncounted(output.join('\n')).split('\n'), uncounted(stdout));
      seen = isRight ? expected : `$ ${command}\n${stdout}(exit code ${code})`;
      return isRight;
    };
    if (LOOKING.test(command)) await eventually(expected, attempt, PATIENCE).catch(() => {});
    else await attempt();
    expect(seen).toBe(expected);
  }
}

/** Where several versions have answered, their share is a matter of chance. */
function uncounted(text: string): string {
  return (text.match(COUNT) ?? []).length > 1 ? text.replaceAll(COUNT, 'some ') : text;
}
