import { type Findings, type Path, type TextDiagnostic, textError } from '../../util/diagnostic.ts';
import { isArray, isObject, type JsonObject, type JsonValue, own, ownString } from '../../util/json.ts';
import { checkYaml } from '../../util/yaml.ts';

/**
 * Finds mistakes in a bootstrap, JSON or YAML, that keep Envoy from starting. `source` is the key or file of the text.
 * No findings do not prove that Envoy starts: only its binary has its schema.
 */
export function bootstrapFaults(source: string, text: string): readonly TextDiagnostic[] {
  const parsed = checkYaml(source, text, findings);
  if ('faults' in parsed) return parsed.faults;
  if (!source.endsWith('.json') || isJson(text)) return [];
  return [textError(source, 'is YAML, but Envoy reads a file with this name as JSON: rename it to .yaml')];
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
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
  yield* ownFindings(value, path, list);
  for (const [key, item] of Object.entries(value)) yield* v2Findings(item, [...path, key], key);
}

function* ownFindings(object: JsonObject, path: Path, list: string): Findings {
  const type = ownString(object, '@type');
  if (type !== undefined && V2_TYPE.test(type)) {
    yield { path: [...path, '@type'], message: `${type} ${GONE}: write its v3 type` };
  }
  if (Object.hasOwn(object, 'config') && ownString(object, 'name') !== undefined && isFilterList(list)) {
    yield {
      path: [...path, 'config'],
      message: `${GONE}: write typed_config, with the v3 type of the filter as its "@type"`,
    };
  }
  for (const [old, current] of Object.entries(own(RENAMED, list) ?? {})) {
    if (Object.hasOwn(object, old)) yield { path: [...path, old], message: `${GONE}: write ${current}` };
  }
  for (const key of [
    'transport_api_version',
    'resource_api_version',
    'transportApiVersion',
    'resourceApiVersion',
  ]) {
    if (ownString(object, key) === 'V2') yield { path: [...path, key], message: `V2 ${GONE}: write V3` };
  }
}

/** Whether a list has items with name and configuration: `filters`, `httpFilters`, `access_log`, … */
function isFilterList(list: string): boolean {
  return /filters$/i.test(list) || /^(access_?log|transport_?socket|stats_?sinks)$/i.test(list);
}
