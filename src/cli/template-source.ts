import { type Fault, formatFault } from '../json/diagnostic.ts';
import { isForbidden, isNotFound } from '../kube/api/api-error.ts';
import { CONFIG_MAPS } from '../kube/api/core-resources.ts';
import { UsageError } from '../kube/util/usage-error.ts';
import { readTemplateFile } from '../sidecar/manifests/template-file.ts';
import { parseTemplateSet, type TemplateSet } from '../sidecar/template/template-set.ts';
import { type Cluster, withCluster } from './cluster.ts';
import { nameOfInput, readInput, type Terminal } from './terminal.ts';
import type { ClusterOptions } from './tool-options.ts';

/** The templates of a file. */
export async function templatesOfFile(terminal: Terminal, file: string): Promise<TemplateSet> {
  const [source, ...others] = readTemplateFile(await readInput(terminal, file));
  const name = nameOfInput(file);
  if (!source)
    throw new UsageError(
      `${name} holds no template: write a ConfigMap with the key config, or a template alone`,
    );
  if (others.length > 0)
    throw new UsageError(`${name} holds ${others.length + 1} ConfigMaps with templates: keep one`);
  return setOrThrow(source.data, name);
}

/** The templates of the live installation, with the user's own credentials. */
export async function templatesOfCluster({ client }: Cluster, options: ClusterOptions): Promise<TemplateSet> {
  const { operatorNamespace: namespace, configmap: name } = options;
  try {
    const { data = {} } = await client.get(CONFIG_MAPS, { namespace, name });
    return setOrThrow(data, `ConfigMap ${namespace}/${name}`);
  } catch (err) {
    if (isForbidden(err))
      throw new UsageError(
        `you may not read the template: ask for the right to get the ConfigMap ${name} in namespace ${namespace}`,
        { cause: err },
      );
    if (!isNotFound(err)) throw err;
    throw new UsageError(
      `there is no ConfigMap ${namespace}/${name}: write --template FILE, or say where the operator is`,
    );
  }
}

/** Of the file where one is given, else of the cluster. */
export async function templatesOf(
  terminal: Terminal,
  options: ClusterOptions & { readonly template?: string },
): Promise<TemplateSet> {
  if (options.template !== undefined) return await templatesOfFile(terminal, options.template);
  return await withCluster(options, (cluster) => templatesOfCluster(cluster, options));
}

function setOrThrow(data: Readonly<Record<string, string>>, where: string): TemplateSet {
  const parsed = parseTemplateSet(data);
  if ('set' in parsed) return parsed.set;
  throw new UsageError(`${where}: ${formatAll(parsed.faults)}`);
}

function formatAll(faults: readonly Fault[]): string {
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more: envoy-initializer lint lists them)` : '';
  return `${faults[0] ? formatFault(faults[0]) : 'faulty'}${more}`;
}
