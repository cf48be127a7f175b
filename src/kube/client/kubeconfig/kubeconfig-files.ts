import { existsSync, readFileSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { load, YAMLException } from 'js-yaml';
import type { Path } from '../../../util/path.ts';
import { parseYaml, yamlProblem } from '../../../util/yaml.ts';
import { fileProblem } from '../../util/file-problem.ts';
import { Fields } from './kubeconfig-fields.ts';
import type { Environment } from './proxy.ts';

/** A named entry of a kubeconfig, not yet decoded. */
export interface KubeconfigEntry {
  /** The file and the name, for messages. */
  readonly where: string;
  readonly value: unknown;
  /** The directory of its relative paths. */
  readonly directory: string;
}

type EntryKind = 'cluster' | 'user' | 'context';

/** The merged content of kubeconfig files. If two have the same entry, the first file wins, as in client-go. */
export interface Kubeconfig {
  readonly files: readonly string[];
  readonly currentContext: string | undefined;
  entry(kind: EntryKind, name: string): KubeconfigEntry | undefined;
  names(kind: EntryKind): readonly string[];
}

/** The files that kubectl reads when no flag names one: those of $KUBECONFIG that exist, else ~/.kube/config. */
export function defaultFiles({ KUBECONFIG, HOME }: Environment): readonly string[] {
  const named = KUBECONFIG?.split(delimiter).filter((file) => file !== '') ?? [];
  const files = named.length > 0 ? named : HOME ? [join(HOME, '.kube', 'config')] : [];
  return files.filter((file) => existsSync(file));
}

/** @throws Error, which names the file, for a file that cannot be read or is not a kubeconfig. */
export function readKubeconfigs(files: readonly string[]): Kubeconfig {
  const documents = files.map((file) => {
    const { value, placeOf } = parse(file);
    return { file, fields: new Fields(file, value), placeOf };
  });
  return {
    files,
    currentContext: documents
      .map(({ fields }) => fields.text('current-context'))
      .find((name) => name !== undefined),
    entry(kind, name) {
      for (const { file, fields, placeOf } of documents) {
        const items = fields.list(`${kind}s`);
        const index = items.findIndex((item) => item.text('name') === name);
        const found = items[index];
        const where = `${file}${placeOf([`${kind}s`, index])}: ${kind} ${JSON.stringify(name)}`;
        if (found) return { where, value: found.value(kind), directory: dirname(resolve(file)) };
      }
      return undefined;
    },
    names: (kind) => [
      ...new Set(
        documents.flatMap(({ fields }) => fields.list(`${kind}s`).map((item) => item.text('name') ?? '')),
      ),
    ],
  };
}

/** The content of a file, and the place of a path in it, such as `:3:5`. */
function parse(file: string): { readonly value: unknown; readonly placeOf: (path: Path) => string } {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw new Error(`cannot read ${file}: ${fileProblem(cause)}`, { cause });
  }
  try {
    const parsed = parseYaml(text);
    return {
      value: load(text),
      placeOf(path) {
        const at = 'locate' in parsed ? parsed.locate(path) : undefined;
        return at ? `:${at.line}:${at.column}` : '';
      },
    };
  } catch (cause) {
    if (!(cause instanceof YAMLException)) throw cause;
    // Its message would quote the file, secrets included.
    const place = cause.mark ? `:${cause.mark.line + 1}:${cause.mark.column + 1}` : '';
    throw new Error(`${file}${place}: ${yamlProblem(cause.reason)}`, { cause });
  }
}
