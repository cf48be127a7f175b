import { quoteText } from '../../util/clip.ts';
import {
  type Findings,
  MAX_DIAGNOSTICS,
  type Path,
  type TextDiagnostic,
  textError,
} from '../../util/diagnostic.ts';
import { isArray, isObject, type JsonValue, own, ownString, tryJson } from '../../util/json.ts';
import { textExcess } from '../../util/text-bounds.ts';
import { checkYaml } from '../../util/yaml.ts';

/** What is wrong with the data of a ConfigMap that Envoy reads: with each bootstrap in it, or with its weights. */
export function configurationFaults(data: Readonly<Record<string, string>>): readonly TextDiagnostic[] {
  if (holdsWeights(data)) return weightFaults(data);
  const [source = ''] = Object.keys(data);
  const excess = textExcess(data);
  if (excess !== undefined) return [textError(source, excess)];
  return Object.entries(data).flatMap(([key, text]) =>
    isBootstrapKey(key) ? bootstrapFaults(key, text) : [],
  );
}

/** The label of a ConfigMap with weights: the webhook checks such ConfigMaps. */
export const WEIGHTS_LABEL = 'initializer.kubernetes.io/envoy-weights';

/**
 * Checks the weights of a canary, as Envoy's runtime reads them from a ConfigMap's keys (`canary.app_v1: "90"`). Envoy
 * silently ignores values that are not numbers, and answers every request with 404 if all weights are 0.
 */
export function weightFaults(data: Readonly<Record<string, string>>): readonly TextDiagnostic[] {
  const [firstKey = ''] = Object.keys(data);
  const excess = textExcess(data);
  if (excess !== undefined) return [textError(firstKey, excess)];
  const groups = new Map<string, { first: string; sum: number }>();
  const faults: TextDiagnostic[] = [];
  for (const [source, text] of Object.entries(data)) {
    const isNumber = /^\d{1,9}\s*$/.test(text);
    if (!isNumber) {
      faults.push(textError(source, `must be a whole number such as "10", not ${quoteText(text)}`));
    }
    const prefix = source.slice(0, source.lastIndexOf('.'));
    const group = groups.get(prefix) ?? { first: source, sum: 0 };
    // A value that is not a number is already a fault.
    groups.set(prefix, { ...group, sum: group.sum + (isNumber ? Number(text) : 1) });
  }
  for (const [prefix, { first, sum }] of groups) {
    if (sum > 0) continue;
    const message = `all weights of ${prefix} are 0, so every request gets 404: give at least one a higher weight`;
    faults.push(textError(first, message));
  }
  return faults.slice(0, MAX_DIAGNOSTICS);
}

/** Whether a ConfigMap's keys are weights: all are `PREFIX.CLUSTER`, and none is a file. */
export function holdsWeights(data: Readonly<Record<string, string>>): boolean {
  const keys = Object.keys(data);
  return keys.length > 0 && keys.every((key) => /^[\w-]+(\.[\w-]+)+$/.test(key) && !isBootstrapKey(key));
}

/** Whether a ConfigMap's key is a bootstrap file of Envoy. */
export function isBootstrapKey(key: string): boolean {
  return /\.(json|ya?ml)$/.test(key);
}

/**
 * Finds mistakes in a bootstrap, JSON or YAML, that keep Envoy from starting. `source` is the key or file of the text.
 * No findings do not prove that Envoy starts: only its binary has its schema.
 */
export function bootstrapFaults(source: string, text: string): readonly TextDiagnostic[] {
  const parsed = checkYaml(source, text, findings);
  if ('faults' in parsed) return parsed.faults;
  if (!source.endsWith('.json') || tryJson(text) !== undefined) return [];
  return [textError(source, 'is YAML, but Envoy reads a file with this name as JSON: rename it to .yaml')];
}

function* findings(value: JsonValue): Findings {
  if (!isObject(value)) {
    yield { path: [], message: 'must be an Envoy bootstrap: {"static_resources": …}' };
    return;
  }
  yield* v2Findings(value);
}

const GONE = 'belongs to the v2 API, which Envoy removed in 1.18';
/** Fields of v2 that v3 renamed, by the list of their items. */
const RENAMED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  clusters: { hosts: 'load_assignment', tls_context: 'transport_socket' },
  filter_chains: { tls_context: 'transport_socket' },
};
/** Lists with items that have a name and a configuration: `filters`, `httpFilters`, `access_log`, … */
const FILTER_LIST = /filters$|^(access_?log|transport_?socket|stats_?sinks)$/i;
const VERSION_FIELDS = ['transport', 'resource'].flatMap((of) => [`${of}_api_version`, `${of}ApiVersion`]);
/** `envoy.api.v2.Cluster`, `envoy.config.filter.http.router.v2.Router`, `envoy.config.trace.v2alpha.…`. */
const V2_TYPE = /^type\.googleapis\.com\/envoy\..*\bv2(alpha\d*)?\./;

/**
 * Finds parts of Envoy's v2 API anywhere in a bootstrap, and says what to write. Envoy's own message names only the first
 * such place, in terms of protobuf.
 */
function* v2Findings(value: JsonValue, path: Path = [], list = ''): Findings {
  if (isArray(value)) {
    for (const [index, item] of value.entries()) yield* v2Findings(item, [...path, index], list);
    return;
  }
  if (!isObject(value)) return;
  const type = ownString(value, '@type');
  if (type !== undefined && V2_TYPE.test(type)) {
    yield { path: [...path, '@type'], message: `${type} ${GONE}: write its v3 type` };
  }
  if (Object.hasOwn(value, 'config') && ownString(value, 'name') !== undefined && FILTER_LIST.test(list)) {
    yield {
      path: [...path, 'config'],
      message: `${GONE}: write typed_config, with the v3 type of the filter as its "@type"`,
    };
  }
  for (const [old, current] of Object.entries(own(RENAMED, list) ?? {})) {
    if (Object.hasOwn(value, old)) yield { path: [...path, old], message: `${GONE}: write ${current}` };
  }
  for (const key of VERSION_FIELDS) {
    if (ownString(value, key) === 'V2') yield { path: [...path, key], message: `V2 ${GONE}: write V3` };
  }
  for (const [key, item] of Object.entries(value)) yield* v2Findings(item, [...path, key], key);
}
