import { readTemplateFile, type TextSource } from '../injection/template/template-file.ts';
import {
  parseTemplateConfigMap,
  type TemplateSet,
  templateName,
} from '../injection/template/template-set.ts';
import { isForbidden, isNotFound } from '../kube/api/api-error.ts';
import { CONFIG_MAPS, type ConfigMap } from '../kube/api/core-resources.ts';
import type { KubeClient } from '../kube/client/client.ts';
import { UsageError } from '../kube/util/errors.ts';
import { counted } from '../util/clip.ts';
import { formatDiagnostic, formatInText, type TextDiagnostic } from '../util/diagnostic.ts';
import { withCluster } from './cluster.ts';
import { type OutputFormat, printOutput } from './io/output.ts';
import { CALLED_AS, type ExitCode, nameOfInput, readInput, type Terminal } from './io/terminal.ts';
import type { ClusterOptions } from './options/tool-options.ts';

/** The texts with templates in a file. @throws UsageError if there is none */
export async function templateTexts(terminal: Terminal, file: string): Promise<readonly TextSource[]> {
  const sources = readTemplateFile(await readInput(terminal, file));
  if (sources.length > 0) return sources;
  throw new UsageError(
    `${nameOfInput(file)} has no template: use a ConfigMap with the key config, or a bare template`,
  );
}

/** Reads the templates of a file. */
export async function templatesOfFile(terminal: Terminal, file: string): Promise<TemplateSet> {
  const [source, ...others] = await templateTexts(terminal, file);
  const name = nameOfInput(file);
  if (!source || others.length > 0)
    throw new UsageError(
      `expected one ConfigMap with a template in ${name}, got ${others.length + 1}: keep one`,
    );
  return setOrThrow(source.data, (fault) => lineOf(inFile(name, source, fault)));
}

/**
 * Reads the templates of the live ConfigMap, with the user's own credentials. `instead` is further advice.
 * @throws UsageError if they are faulty: replicas that have had valid ones use those
 */
export async function templatesOfCluster(
  client: KubeClient,
  options: ClusterOptions,
  instead = '',
): Promise<TemplateSet> {
  const { operatorNamespace: namespace, configmap: name } = options;
  const { data = {} } = await liveConfigMap(client, options, instead);
  return setOrThrow(
    data,
    (fault) =>
      `ConfigMap ${namespace}/${name}: ${formatInText(fault)}: replicas keep their last valid template until you correct it`,
  );
}

/** The live ConfigMap. @throws UsageError that says why it cannot be read; `instead` is further advice */
export async function liveConfigMap(
  client: KubeClient,
  { operatorNamespace: namespace, configmap: name }: ClusterOptions,
  instead = '',
): Promise<ConfigMap> {
  try {
    return await client.get(CONFIG_MAPS, { namespace, name });
  } catch (err) {
    if (isForbidden(err))
      throw new UsageError(
        `cannot read the template: you need the right to get ConfigMap ${name} in namespace ${namespace}`,
        { cause: err },
      );
    if (!isNotFound(err)) throw err;
    throw new UsageError(
      `ConfigMap ${namespace}/${name} does not exist: point --operator-namespace and --configmap at the operator's${instead}`,
    );
  }
}

/** Reads the templates of `--template` or, without it, of the cluster. */
export async function templatesOf(
  terminal: Terminal,
  options: ClusterOptions & { readonly template?: string },
): Promise<TemplateSet> {
  if (options.template !== undefined) return await templatesOfFile(terminal, options.template);
  const instead = ', or use --template FILE';
  return await withCluster(options, ({ client }) => templatesOfCluster(client, options, instead), instead);
}

/** @throws UsageError with the first fault as `format` returns it, and the number of the others. */
function setOrThrow(
  data: Readonly<Record<string, string>>,
  format: (fault: TextDiagnostic) => string,
): TemplateSet {
  const parsed = parseTemplateConfigMap(data);
  if ('set' in parsed) return parsed.set;
  const [first = '', ...more] = parsed.faults.map(format);
  const others = `and ${counted(more.length, 'more problem')}: ${CALLED_AS} lint lists them`;
  throw new UsageError(more.length > 0 ? `${first} (${others})` : first);
}

/** What is said about a text in a file, at its place there. The operator refuses a text with an error. */
export interface FileDiagnostic extends TextDiagnostic {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

export function inFile(file: string, text: TextSource, found: TextDiagnostic): FileDiagnostic {
  return { file, ...found, ...text.locate(found) };
}

/** Prints what was found and, without an error among it, the text of `fine`. Returns the exit code. */
export function reportFindings(
  terminal: Terminal,
  format: OutputFormat,
  found: readonly FileDiagnostic[],
  fine: () => string,
): ExitCode {
  const value = found.map((each) => ({ ...each }));
  printOutput(terminal, format, value, found.map(lineOf));
  const { length } = found.filter(({ severity }) => severity === 'error');
  if (format === 'text') terminal.err(`${length === 0 ? fine() : counted(length, 'problem')}\n`);
  return length > 0 ? 1 : 0;
}

/** One line: `web.yaml:3:5: template "config": containers[0].image: required…`. */
export function lineOf({ file, line, column, source, severity, ...rest }: FileDiagnostic): string {
  const name = templateName(source);
  const text = name === undefined ? source : `template ${JSON.stringify(name)}`;
  const said = `${text === '' ? '' : `${text}: `}${formatDiagnostic(rest)}`;
  return `${file}:${line}:${column}: ${severity === 'warning' ? 'warning: ' : ''}${said}`;
}
