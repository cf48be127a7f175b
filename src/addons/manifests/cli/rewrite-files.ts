import { type Command, Option } from 'commander';
import { nameOfInput, readInput, type Terminal } from '../../../cli/io/terminal.ts';
import { text } from '../../../cli/options/option-values.ts';
import { FILENAME, requireFile } from '../../../cli/options/tool-options.ts';
import { objectsOf } from '../../../injection/podspec/workload.ts';
import { UsageError } from '../../../kube/util/errors.ts';
import { isArray, isObject, ownString } from '../../../util/json.ts';
import { ManifestError, readManifests } from '../../../util/manifests/parse.ts';
import { PatchError } from '../../../util/patch.ts';

/** The flag that names manifests, as in kubectl. */
export interface InputOptions {
  readonly filename?: readonly string[];
}

/** Adds `-f`, which is required. */
export function addInputOptions(command: Command, help: string): Command {
  const option = new Option(FILENAME, `${help}, separated by commas; - for standard input`);
  const all = (list: string, files: readonly string[] = []) => [...files, ...list.split(',').map(text)];
  return requireFile(command.addOption(option.argParser(all)));
}

/**
 * Rewrites files to standard output. Reads all of them before `prepare`, which may need the cluster. Prints nothing if
 * one fails, so that no incomplete output is applied.
 */
export async function rewriteFiles<R extends { readonly text: string }>(
  terminal: Terminal,
  { filename = [] }: InputOptions,
  prepare: () => Promise<(text: string) => R>,
): Promise<readonly R[]> {
  const inputs = await Promise.all(
    filename.map(async (file) => ({ file: nameOfInput(file), text: await readInput(terminal, file) })),
  );
  for (const { file, text } of inputs) requireObjects(file, text);
  const rewrite = await prepare();
  const rewritten = inputs.map(({ file, text }) => explained(file, () => rewrite(text)));
  terminal.out(joinManifests(rewritten.map(({ text }) => text)));
  return rewritten;
}

/** @throws UsageError if the file is invalid, has text instead of an object, or has no object. */
function requireObjects(file: string, text: string): void {
  const documents = explained(file, () => readManifests(text));
  const other = documents.find((document) => document !== null && !isObject(document));
  if (other !== undefined) {
    throw new UsageError(`${file}: expected a Kubernetes object, not ${isArray(other) ? 'a list' : 'text'}`);
  }
  const objects = documents.flatMap((document) => [...objectsOf(document)]);
  if (objects.every(([object]) => !ownString(object, 'kind'))) {
    const missing = objects.length > 0 ? ': kind is missing' : '';
    throw new UsageError(`${file} contains no Kubernetes object${missing}`);
  }
}

/** Calls `work`. @throws UsageError that begins with the place of the error, such as `web.yaml:3:5: …`. */
function explained<T>(file: string, work: () => T): T {
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
