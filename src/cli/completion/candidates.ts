import type { Command, Option } from 'commander';

/** A word that a shell offers. */
export interface Candidate {
  readonly word: string;
  readonly help: string;
}

/**
 * What may stand for the last of these words; none where a shell offers file names. The program knows the options only of
 * the commands that are loaded. bash passes the `=` of `--output=json` as a word of its own, and other shells do not.
 */
export function candidates(program: Command, typed: readonly string[]): readonly Candidate[] {
  const words = typed.filter((word, i) => word !== '=' || i === typed.length - 1);
  const word = words.at(-1) ?? '';
  const before = words.slice(0, -1);
  const command = program.commands.find((each) => before.includes(each.name()));
  const [, flag, assigned] = /^(--[^=]+)=(.*)$/.exec(word) ?? [undefined, before.at(-1), word];
  const option = command?.options.find(
    ({ required, short, long }) => required && (flag === long || flag === short),
  );
  if (option) {
    const prefix = assigned === word ? '' : `${flag}=`;
    return choices(option, assigned === '=' ? '' : (assigned ?? '')).map((choice) => ({
      word: `${prefix}${choice}`,
      help: '',
    }));
  }
  return everything(program, command, before, word).filter((each) => each.word.startsWith(word));
}

function choices({ argChoices = [] }: Option, start: string): readonly string[] {
  return argChoices.filter((choice) => choice.startsWith(start));
}

/** All words that may stand at a place that is no value of an option. */
function everything(
  program: Command,
  command: Command | undefined,
  before: readonly string[],
  word: string,
): readonly Candidate[] {
  const help = program.createHelp();
  if (word.startsWith('-')) {
    const options = help.visibleOptions(command ?? program);
    return options.flatMap(({ long, description }) => (long ? [{ word: long, help: description }] : []));
  }
  if (command === undefined) {
    return help.visibleCommands(program).map((each) => ({ word: each.name(), help: each.description() }));
  }
  const position = before.slice(before.indexOf(command.name()) + 1).filter((each) => !each.startsWith('-'));
  const argument = command.registeredArguments[position.length];
  return (argument?.argChoices ?? []).map((choice) => ({ word: choice, help: '' }));
}

/** As programs made with cobra print them, which `kubectl` and our scripts read: 4 in the last line means no file names. */
export function printCandidates(found: readonly Candidate[]): string {
  const lines = found.map(({ word, help }) => (help === '' ? word : `${word}\t${help}`));
  return `${[...lines, `:${found.length > 0 ? 4 : 0}`].join('\n')}\n`;
}
