import { type Fault, formatFault } from '../json/diagnostic.ts';
import { isForbidden, isNotFound } from '../kube/api/api-error.ts';
import { CONFIG_MAPS } from '../kube/api/core-resources.ts';
import { UsageError } from '../kube/util/usage-error.ts';
import { readTemplateFile } from '../sidecar/manifests/template-file.ts';
import { parseTemplateSet, type TemplateSet } from '../sidecar/template/template-set.ts';
import { type Cluster, withCluster } from './cluster.ts';
import { lineOf, toFinding } from './lint/lint-findings.ts';
import { nameOfInput, readInput, type Terminal } from './terminal.ts';
import type { ClusterOptions } from './tool-options.ts';

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

/** Reads the templates of the live installation with the user's own credentials. `instead` is further advice. */
export async function templatesOfCluster(
  { client }: Cluster,
  options: ClusterOptions,
  instead = '',
): Promise<TemplateSet> {
  const { operatorNamespace: namespace, configmap: name } = options;
  try {
    const { data = {} } = await client.get(CONFIG_MAPS, { namespace, name });
    return setOrThrow(
      data,
      (fault) =>
        `ConfigMap ${namespace}/${name}: ${formatFault(fault)}: pods get the last valid template until you correct it`,
    );
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
  return await withCluster(options, (cluster) =>
    templatesOfCluster(cluster, options, ', or use --template FILE'),
  );
}

/** @throws UsageError with the first fault as `format` returns it, and the number of the others. */
function setOrThrow(data: Readonly<Record<string, string>>, format: (fault: Fault) => string): TemplateSet {
  const parsed = parseTemplateSet(data);
  if ('set' in parsed) return parsed.set;
  const [first = '', ...more] = parsed.faults.map(format);
  const others = more.length === 1 ? '1 more problem' : `${more.length} more problems`;
  throw new UsageError(
    more.length > 0 ? `${first} (and ${others}: envoy-initializer lint lists them)` : first,
  );
}
