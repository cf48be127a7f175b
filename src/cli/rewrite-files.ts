import { PatchError } from '../json/patch.ts';
import { ManifestError } from '../json/yaml-edit/manifests.ts';
import { UsageError } from '../kube/util/usage-error.ts';
import { nameOfInput, readInput, type Terminal } from './terminal.ts';

/** What was made of one file. */
export interface Rewritten<R> {
  readonly text: string;
  readonly results: readonly R[];
}

/** Rewrites files to standard output: all of them or, where anything fails, none, so that no half stream is applied. */
export async function rewriteFiles<R>(
  terminal: Terminal,
  files: readonly string[],
  rewrite: (text: string) => Rewritten<R>,
): Promise<readonly R[]> {
  const rewritten: Rewritten<R>[] = [];
  for (const file of files) {
    const input = await readInput(terminal, file);
    rewritten.push(explained(nameOfInput(file), () => rewrite(input)));
  }
  terminal.out(joinManifests(rewritten.map(({ text }) => text)));
  return rewritten.flatMap(({ results }) => results);
}

/** What is wrong with a file as a UsageError that says in which file, and where: `web.yaml:3:5: …`, as compilers do. */
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

/** The texts of several files as one stream: `---` where the last one left off, or nothing between JSON objects. */
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
