import { quoteText } from '../json/clip.ts';
import { PatchError } from '../json/patch.ts';
import { duplicateKeys, ManifestError } from '../json/yaml-edit/manifests.ts';
import { UsageError } from '../kube/util/usage-error.ts';
import { type InputOptions, readInputs } from './input-files.ts';
import { nameOfInput, type Terminal } from './terminal.ts';

/** The longest key in a message. */
const MAX_KEY = 64;

/** Rewrites files to standard output. Prints nothing if one fails, so that no incomplete output is applied. */
export async function rewriteFiles<R extends { readonly text: string }>(
  terminal: Terminal,
  options: InputOptions,
  rewrite: (text: string) => R,
): Promise<readonly R[]> {
  const rewritten: R[] = [];
  for (const { file, text } of await readInputs(terminal, options)) {
    rewritten.push(explained(nameOfInput(file), () => rewrite(text)));
    warnOfDuplicates(terminal, file, text);
  }
  terminal.out(joinManifests(rewritten.map(({ text }) => text)));
  return rewritten;
}

/** Warns of keys that are given twice: kubectl reads them, too. */
export function warnOfDuplicates(terminal: Terminal, file: string, text: string): void {
  for (const { key, location } of duplicateKeys(text)) {
    const place = `${nameOfInput(file)}:${location.line}:${location.column}`;
    terminal.err(
      `${place}: warning: ${quoteText(key, MAX_KEY)} is given again: kubectl takes this value, remove the other\n`,
    );
  }
}

/** Calls `work`. @throws UsageError that begins with the place of the error, such as `web.yaml:3:5: …`. */
export function explained<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (cause instanceof PatchError) throw new UsageError(`${file}: ${cause.message}`, { cause });
    if (!(cause instanceof ManifestError)) throw cause;
    const place = cause.location ? `:${cause.location.line}:${cause.location.column}` : '';
    throw new UsageError(`${file}${place}: ${cause.message}`, { cause });
  }
}

/** Joins several files: with `---` between YAML documents, and nothing between JSON objects. */
function joinManifests(texts: readonly string[]): string {
  const isJson = texts.every((text) => /^\s*\{/.test(text));
  return texts
    .map((text, index) => {
      const isLast = index === texts.length - 1;
      return isLast || text === '' || text.endsWith('\n') ? text : `${text}\n`;
    })
    .filter((text) => text.trim() !== '')
    .reduce((stream, text) => {
      const separated = isJson || stream === '' || text.startsWith('---');
      return separated ? stream + text : `${stream}---\n${text}`;
    }, '');
}
