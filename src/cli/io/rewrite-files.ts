import { objectsOf } from '../../injection/podspec/workload.ts';
import { UsageError } from '../../kube/util/usage-error.ts';
import { isArray, isObject, type JsonValue, ownString } from '../../util/json.ts';
import { PatchError } from '../../util/patch.ts';
import { ManifestError, readManifests } from '../../util/yaml-edit/manifests.ts';
import { type Input, type InputOptions, readInputs } from './input-files.ts';
import { nameOfInput, type Terminal } from './terminal.ts';

/**
 * Rewrites files to standard output. Reads all of them before `prepare`, which may need the cluster. Prints nothing if
 * one fails, so that no incomplete output is applied.
 */
export async function rewriteFiles<R extends { readonly text: string }>(
  terminal: Terminal,
  options: InputOptions,
  prepare: () => Promise<(text: string) => R>,
): Promise<readonly R[]> {
  const inputs = await readInputs(terminal, options);
  inputs.forEach(readObjects);
  const rewrite = await prepare();
  const rewritten = inputs.map(({ file, text }) => explained(nameOfInput(file), () => rewrite(text)));
  terminal.out(joinManifests(rewritten.map(({ text }) => text)));
  return rewritten;
}

/** The documents of a file. @throws UsageError if it is invalid, has text instead of an object, or has no object. */
export function readObjects({ file: path, text, isNamed }: Input): readonly JsonValue[] {
  const file = nameOfInput(path);
  const documents = explained(file, () => readManifests(text));
  const other = documents.find((document) => document !== null && !isObject(document));
  if (other !== undefined) {
    throw new UsageError(`${file}: expected a Kubernetes object, not ${isArray(other) ? 'a list' : 'text'}`);
  }
  // As in kubectl, a file of a directory may have none.
  const objects = documents.flatMap((document) => [...objectsOf(document)]);
  if (isNamed && objects.every(([object]) => !ownString(object, 'kind'))) {
    const missing = objects.length > 0 ? ': kind is missing' : '';
    throw new UsageError(`${file} contains no Kubernetes object${missing}`);
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
