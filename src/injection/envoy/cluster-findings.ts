import { clip, quoteText } from '../../util/clip.ts';
import type { Findings } from '../../util/diagnostic.ts';
import {
  isArray,
  isObject,
  type JsonObject,
  type JsonValue,
  own,
  ownObjects,
  ownString,
} from '../../util/json.ts';
import type { Path } from '../../util/path.ts';
import { suggest } from '../../util/suggest.ts';

/**
 * Finds routes to clusters that do not exist, which Envoy rejects, and weights that are all 0, for which Envoy answers
 * 404. Finds nothing if clusters come from a server.
 */
export function* clusterFindings(bootstrap: JsonObject): Findings {
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
