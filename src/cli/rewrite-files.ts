import { isArray, isObject, type JsonValue } from '../json/json.ts';
import { PatchError } from '../json/patch.ts';
import { ManifestError, readManifests } from '../json/yaml-edit/manifests.ts';
import { UsageError } from '../kube/util/usage-error.ts';
import { objectsOf } from '../podspec/workload.ts';
import { nameOfInput, readInput, type Terminal } from './terminal.ts';

/** The result for one file. */
export interface Rewritten<R> {
  readonly text: string;
  readonly results: readonly R[];
}

/**
 * Rewrites files to standard output. Reads all of them before `prepare`, which may need the cluster. Prints nothing if
 * one fails, so that no incomplete output is applied.
 */
export async function rewriteFiles<R>(
  terminal: Terminal,
  files: readonly string[],
  prepare: () => Promise<(text: string) => Rewritten<R>>,
): Promise<readonly R[]> {
  const inputs: (readonly [file: string, text: string])[] = [];
  for (const file of files) {
    const input = await readInput(terminal, file);
    readObjects(nameOfInput(file), input);
    inputs.push([file, input]);
  }
  const rewrite = await prepare();
  const rewritten = inputs.map(([file, input]) => explained(nameOfInput(file), () => rewrite(input)));
  terminal.out(joinManifests(rewritten.map(({ text }) => text)));
  return rewritten.flatMap(({ results }) => results);
}

/** The documents of a file. @throws UsageError if it is invalid, has text instead of an object, or has no object. */
export function readObjects(file: string, text: string): readonly JsonValue[] {
  const documents = explained(file, () => readManifests(text));
  const other = documents.find((document) => document !== null && !isObject(document));
  if (other !== undefined) {
    throw new UsageError(`${file}: expected a Kubernetes object, not ${isArray(other) ? 'a list' : 'text'}`);
  }
  if (documents.every((document) => objectsOf(document).next().done)) {
    throw new UsageError(`${file} contains no Kubernetes object`);
  }
  return documents;
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
