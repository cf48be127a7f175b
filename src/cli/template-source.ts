import { readTemplateFile } from '../injection/manifests/template-file.ts';
import { parseTemplateSet, type TemplateSet } from '../injection/template/template-set.ts';
import { isForbidden, isNotFound } from '../kube/api/api-error.ts';
import { CONFIG_MAPS, type ConfigMap } from '../kube/api/core-resources.ts';
import type { KubeClient } from '../kube/client/client.ts';
import { UsageError } from '../kube/util/usage-error.ts';
import { formatInText, type TextDiagnostic } from '../util/diagnostic.ts';
import { isObject, own } from '../util/json.ts';
import { type Cluster, withCluster } from './cluster.ts';
import { type Installation, installationOf } from './installation.ts';
import { nameOfInput, readInput, type Terminal } from './io/terminal.ts';
import { lineOf, toFinding } from './lint/lint-findings.ts';
import type { ClusterOptions } from './options/tool-options.ts';
import { CALLED_AS } from './program-name.ts';
import { ReplicaPages } from './replica-pages.ts';

/** Reads the templates of a file. */
export async function templatesOfFile(terminal: Terminal, file: string): Promise<TemplateSet> {
  const [source, ...others] = readTemplateFile(await readInput(terminal, file));
  const name = nameOfInput(file);
  if (!source)
    throw new UsageError(
      `${name} has no template: write a ConfigMap with the key config, or a template alone`,
    );
  if (others.length > 0)
    throw new UsageError(
      `expected one ConfigMap with a template in ${name}, got ${others.length + 1}: keep one`,
    );
  return setOrThrow(source.data, (fault) => lineOf(toFinding(name, source, fault)));
}

/** Templates of the cluster. */
export interface ClusterTemplates {
  readonly set: TemplateSet;
  /** What is wrong with the live ConfigMap, if these are the last valid ones instead, which pods get. */
  readonly warning?: string;
}

/**
 * Reads the templates that pods get, with the user's own credentials: those of the ConfigMap, or the last valid ones of
 * a replica. `instead` is further advice.
 */
export async function templatesOfCluster(
  cluster: Cluster,
  options: ClusterOptions,
  installation: Installation | undefined,
  instead = '',
): Promise<ClusterTemplates> {
  const { operatorNamespace: namespace, configmap: name } = options;
  const { data = {} } = await liveConfigMap(cluster.client, options, instead);
  const parsed = parseTemplateSet(data);
  if ('set' in parsed) return { set: parsed.set };
  const last = await lastValidTemplates(cluster, namespace, installation);
  const [fault = ''] = parsed.faults.map(formatInText);
  const problem = `ConfigMap ${namespace}/${name}: ${fault}`;
  if (last)
    return { set: last, warning: `warning: ${problem}: this uses the last valid template, as new pods do` };
  return {
    set: setOrThrow(
      data,
      () => `${problem}: replicas that have had a valid template use that until you correct it`,
    ),
  };
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

/** The templates of the first replica that shows them; undefined if none does. */
async function lastValidTemplates(
  cluster: Cluster,
  namespace: string,
  installation: Installation | undefined,
): Promise<TemplateSet | undefined> {
  const pages = new ReplicaPages(cluster, namespace, installation);
  for (const { name } of await pages.replicas().catch(() => [])) {
    const page = await pages.debug(name, 'template').catch(() => undefined);
    const data = own(page, 'data');
    const texts = Object.entries(isObject(data) ? data : {}).map(([key, value]) => [key, String(value)]);
    const parsed = parseTemplateSet(Object.fromEntries(texts));
    if ('set' in parsed) return parsed.set;
  }
  return undefined;
}

/** Reads the templates of `--template` or, without it, of the cluster. */
export async function templatesOf(
  terminal: Terminal,
  options: ClusterOptions & { readonly template?: string },
): Promise<TemplateSet> {
  if (options.template !== undefined) return await templatesOfFile(terminal, options.template);
  const instead = ', or use --template FILE';
  const ofCluster = async (cluster: Cluster) => {
    const installation = await installationOf(cluster.client, options.operatorNamespace);
    const found = await templatesOfCluster(cluster, options, installation, instead);
    if (found.warning !== undefined) terminal.err(`${found.warning}\n`);
    return found.set;
  };
  return await withCluster(options, ofCluster, instead);
}

/** @throws UsageError with the first fault as `format` returns it, and the number of the others. */
function setOrThrow(
  data: Readonly<Record<string, string>>,
  format: (fault: TextDiagnostic) => string,
): TemplateSet {
  const parsed = parseTemplateSet(data);
  if ('set' in parsed) return parsed.set;
  const [first = '', ...more] = parsed.faults.map(format);
  const others = more.length === 1 ? '1 more problem' : `${more.length} more problems`;
  throw new UsageError(more.length > 0 ? `${first} (and ${others}: ${CALLED_AS} lint lists them)` : first);
}
