import { readTemplateFile, type TextSource } from '../injection/manifests/template-file.ts';
import { parseTemplateConfigMap, type TemplateSet } from '../injection/template/template-set.ts';
import { isForbidden, isNotFound } from '../kube/api/api-error.ts';
import { CONFIG_MAPS, type ConfigMap } from '../kube/api/core-resources.ts';
import type { KubeClient } from '../kube/client/client.ts';
import { UsageError } from '../kube/util/usage-error.ts';
import { formatInText, type TextDiagnostic } from '../util/diagnostic.ts';
import { withCluster } from './cluster.ts';
import { CALLED_AS, nameOfInput, readInput, type Terminal } from './io/terminal.ts';
import { inFile, lineOf } from './lint/lint-findings.ts';
import type { ClusterOptions } from './options/tool-options.ts';

/** The texts with templates in a file. @throws UsageError if there is none */
export async function templateTexts(terminal: Terminal, file: string): Promise<readonly TextSource[]> {
  const sources = readTemplateFile(await readInput(terminal, file));
  if (sources.length > 0) return sources;
  throw new UsageError(
    `${nameOfInput(file)} has no template: write a ConfigMap with the key config, or a template alone`,
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
      `ConfigMap ${namespace}/${name} does not exist: name the operator's with --operator-namespace and --configmap${instead}`,
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
  const others = more.length === 1 ? '1 more problem' : `${more.length} more problems`;
  throw new UsageError(more.length > 0 ? `${first} (and ${others}: ${CALLED_AS} lint lists them)` : first);
}
