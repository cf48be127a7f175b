import { clip, quoteText } from '../../util/clip.ts';
import { type Findings, type Path, type TextDiagnostic, textError } from '../../util/diagnostic.ts';
import {
  isArray,
  isObject,
  type JsonObject,
  type JsonValue,
  own,
  ownObjects,
  ownString,
} from '../../util/json.ts';
import { suggest } from '../../util/suggest.ts';
import { checkYaml } from '../../util/yaml.ts';

/** The fields of envoy.config.bootstrap.v3.Bootstrap that users write by hand. It has more, and newer ones. */
const FIELDS = [
  'admin',
  'bootstrap_extensions',
  'cluster_manager',
  'dynamic_resources',
  'layered_runtime',
  'node',
  'overload_manager',
  'static_resources',
  'stats_config',
  'stats_sinks',
];
const STATIC_RESOURCES = ['listeners', 'clusters', 'secrets'];

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
    yield { path: [], message: 'must be a bootstrap of Envoy: {"static_resources": …}' };
    return;
  }
  yield* misspelt(value, [], FIELDS);
  yield* misspelt(value.static_resources, ['static_resources'], STATIC_RESOURCES);
  yield* v2Findings(value);
  yield* unconfiguredFilters(value, []);
  yield* clusterFindings(value);
}

/** Finds only fields that resemble a known name: a newer Envoy may have other fields. */
function* misspelt(object: JsonValue | undefined, path: Path, known: readonly string[]): Findings {
  for (const key of isObject(object) ? Object.keys(object) : []) {
    const name = key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const meant = known.includes(name) ? undefined : suggest(name, known);
    if (meant !== undefined) {
      yield { path: [...path, key], message: `unknown field ${JSON.stringify(key)}: did you mean ${meant}?` };
    }
  }
}

/** Envoy finds a filter only by the type of its configuration, not by name. */
function* unconfiguredFilters(value: JsonValue, path: Path): Findings {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, item] of Object.entries(value)) {
    const at = [...path, Array.isArray(value) ? Number(key) : key];
    if (/^(http_?filters|filters)$/i.test(key)) {
      for (const [index, filter] of ownObjects(value, key).entries()) {
        const isConfigured = Object.keys(filter).some((field) => /config/i.test(field));
        if (!isConfigured) {
          const message = 'has no typed_config: write one, with the type of the filter as its "@type"';
          yield { path: [...at, index], message };
        }
      }
    }
    yield* unconfiguredFilters(item, at);
  }
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

/**
 * Finds routes to clusters that do not exist, which Envoy rejects, and weights that are all 0, for which Envoy answers
 * 404. Finds nothing if clusters come from a server.
 */
function* clusterFindings(bootstrap: JsonObject): Findings {
  if (own(bootstrap, 'dynamic_resources') !== undefined || own(bootstrap, 'dynamicResources') !== undefined)
    return;
  const resources = own(bootstrap, 'static_resources') ?? own(bootstrap, 'staticResources');
  const clusters = new Set(ownObjects(resources, 'clusters').map((cluster) => ownString(cluster, 'name')));
  for (const { object, path } of routes(bootstrap, [])) {
    yield* targetFindings(object, path, clusters);
  }
}

interface Found {
  readonly object: JsonObject;
  readonly path: Path;
}

/** Every `route` action and every TCP proxy configuration. Both name clusters in the same way. */
function* routes(value: JsonValue, path: Path): Generator<Found, void> {
  if (isArray(value)) {
    for (const [index, item] of value.entries()) yield* routes(item, [...path, index]);
  } else if (isObject(value)) {
    const isTcpProxy = ownString(value, '@type')?.endsWith('.tcp_proxy.v3.TcpProxy') ?? false;
    if (isTcpProxy || (path.at(-1) === 'route' && path.includes('routes'))) yield { object: value, path };
    for (const [key, item] of Object.entries(value)) yield* routes(item, [...path, key]);
  }
}

function* targetFindings(route: JsonObject, path: Path, clusters: ReadonlySet<string | undefined>): Findings {
  yield* nameFindings(route, 'cluster', path, clusters);
  const key = Object.hasOwn(route, 'weightedClusters') ? 'weightedClusters' : 'weighted_clusters';
  const weighted = ownObjects(own(route, key), 'clusters');
  for (const [index, target] of weighted.entries()) {
    yield* nameFindings(target, 'name', [...path, key, 'clusters', index], clusters);
  }
  if (weighted.length > 0 && weighted.every((target) => own(target, 'weight') === 0)) {
    yield { path: [...path, key], message: 'all weights are 0: give at least one cluster a higher weight' };
  }
}

/** How much of a name, and how many names, a message shows. */
const SHOWN = 64;
const LISTED = 10;

function listed(names: readonly string[]): string {
  const shown = names.slice(0, LISTED).map((name) => clip(name, SHOWN));
  const more = names.length - shown.length;
  return `${shown.join(', ') || 'none'}${more > 0 ? ` and ${more} more` : ''}`;
}

function* nameFindings(
  object: JsonObject,
  key: string,
  path: Path,
  clusters: ReadonlySet<string | undefined>,
): Findings {
  const name = ownString(object, key);
  if (name === undefined || clusters.has(name)) return;
  const known = [...clusters].filter((cluster) => cluster !== undefined);
  const meant = suggest(name, known);
  const hint = meant === undefined ? `static_resources has ${listed(known)}` : `did you mean ${meant}?`;
  yield {
    path: [...path, key],
    message: `cluster ${quoteText(name, SHOWN)} does not exist: ${hint}`,
  };
}
