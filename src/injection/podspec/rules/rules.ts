import type { Findings, Path } from '../../../util/diagnostic.ts';
import { isArray, isObject, type JsonObject, type JsonValue, own, ownString } from '../../../util/json.ts';
import { isLabelValue, isQualifiedName } from '../names.ts';
import { POD_SCHEMA } from '../schema/pod-schema.ts';

/** The items of a list that a template or one of its objects has, with the path of each. */
export function* items(
  object: JsonValue | undefined,
  key: string,
  path: Path,
): Generator<readonly [JsonObject, Path]> {
  const list = own(object, key);
  if (!isArray(list)) return;
  for (const [index, item] of list.entries()) if (isObject(item)) yield [item, [...path, key, index]];
}

/** A finding for each item with the key of an earlier item. */
export function* duplicates(
  list: Iterable<readonly [JsonObject, Path]>,
  keyOf: (item: JsonObject) => string | undefined,
  field: string,
): Findings {
  const seen = new Map<string, Path>();
  for (const [item, path] of list) {
    const key = keyOf(item);
    if (key === undefined) continue;
    if (seen.has(key)) yield { path: [...path, field], message: `${key} appears twice: keep one` };
    else seen.set(key, path);
  }
}

/** A finding unless exactly one of the fields is set, or none if it is optional. */
export function* exactlyOne(
  object: JsonObject,
  fields: readonly string[],
  path: Path,
  what: string,
  isOptional = false,
): Findings {
  const given = fields.filter((field) => isSet(object, field));
  if (given.length === 1 || (isOptional && given.length === 0)) return;
  const found = given.length === 0 ? 'none' : given.join(' and ');
  yield { path, message: `expected exactly one ${what}, got ${found}` };
}

export function isSet(object: JsonObject, field: string): boolean {
  const value = own(object, field);
  return value !== undefined && value !== null;
}

const SOURCES = Object.keys(POD_SCHEMA.Volume ?? {}).filter((field) => field !== 'name');
const PROJECTIONS = Object.keys(POD_SCHEMA.VolumeProjection ?? {});

/** What the API server would reject in a volume of the right shape. */
export function* volumeFindings(volume: JsonObject, path: Path): Findings {
  // Without one, it is an emptyDir.
  yield* exactlyOne(volume, SOURCES, path, 'source, such as configMap or emptyDir: {}', true);
  yield* downwardFindings(own(volume, 'downwardAPI'), [...path, 'downwardAPI']);
  for (const [projection, at] of items(own(volume, 'projected'), 'sources', [...path, 'projected'])) {
    yield* exactlyOne(projection, PROJECTIONS, at, 'projection');
    yield* downwardFindings(own(projection, 'downwardAPI'), [...at, 'downwardAPI']);
  }
}

function* downwardFindings(source: JsonObject[string] | undefined, path: Path): Findings {
  if (!isObject(source)) return;
  for (const [item, at] of items(source, 'items', path)) {
    yield* exactlyOne(item, ['fieldRef', 'resourceFieldRef'], at, 'source');
  }
}

/** The limit of the resolver (the API server's validation, MaxDNSNameservers). */
const MAX_NAMESERVERS = 3;

/** What the API server would reject in the fields of the pod itself. */
export function* podFindings(spec: JsonObject, path: Path): Findings {
  yield* duplicates(items(spec, 'hostAliases', path), (alias) => ownString(alias, 'ip'), 'ip');
  yield* profileFindings(own(spec, 'securityContext'), [...path, 'securityContext']);
  const nameservers = own(own(spec, 'dnsConfig'), 'nameservers');
  if (isArray(nameservers) && nameservers.length > MAX_NAMESERVERS) {
    yield {
      path: [...path, 'dnsConfig', 'nameservers'],
      message: `must have at most ${MAX_NAMESERVERS} entries`,
    };
  }
}

/** What the API server would reject in labels and annotations. */
export function* metadataFindings(metadata: JsonObject, path: Path): Findings {
  const labels = Object.entries(own(metadata, 'labels') ?? {});
  const annotations = Object.entries(own(metadata, 'annotations') ?? {});
  for (const [key, value] of labels) {
    yield* keyFindings(key, [...path, 'labels', key]);
    if (!isLabelValue(String(value))) {
      const message =
        'must be at most 63 letters, digits, ".", "_" and "-", and begin and end with a letter or digit';
      yield { path: [...path, 'labels', key], message };
    }
  }
  for (const [key] of annotations) {
    // The API server checks annotation keys in lower case (ValidateAnnotations).
    yield* keyFindings(key.toLowerCase(), [...path, 'annotations', key]);
  }
}

function* keyFindings(key: string, path: Path): Findings {
  if (!isQualifiedName(key)) yield { path, message: 'must be a key such as app or example.com/team' };
}

/** Findings for the profiles of a security context: only the type Localhost has a file. */
export function* profileFindings(context: JsonValue | undefined, path: Path): Findings {
  for (const field of ['seccompProfile', 'appArmorProfile']) {
    const profile = own(context, field);
    const local = own(profile, 'type') === 'Localhost';
    if (isObject(profile) && local !== Boolean(own(profile, 'localhostProfile'))) {
      const message = 'must be set if and only if the type is Localhost';
      yield { path: [...path, field, 'localhostProfile'], message };
    }
  }
}
