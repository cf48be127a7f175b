import { type Fault, type Findings, toFaults } from '../../util/diagnostic.ts';
import { isObject, type JsonValue, ownObjects } from '../../util/json.ts';
import type { Path } from '../../util/path.ts';
import { suggest } from '../../util/suggest.ts';
import { parseYaml } from '../../util/yaml.ts';
import { clusterFindings } from './cluster-findings.ts';
import { v2Findings } from './v2-findings.ts';

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
export function bootstrapFaults(source: string, text: string): readonly Fault[] {
  const parsed = parseYaml(text);
  if ('error' in parsed) return [{ source, path: '', ...parsed.location, message: parsed.error }];
  const faults = toFaults(source, findings(parsed.value), parsed.locate);
  if (faults.length > 0 || !source.endsWith('.json') || isJson(text)) return faults;
  return [
    {
      source,
      path: '',
      message: 'is YAML, but Envoy reads a file with this name as JSON: rename it to .yaml',
    },
  ];
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
