import type { Findings } from '../../json/diagnostic.ts';
import { isArray, isObject, type JsonObject, type JsonValue, own, sameJson } from '../../json/json.ts';
import type { Path } from '../../json/path.ts';
import { POD_SCHEMA } from '../schema/pod-schema.ts';
import { exactlyOne, items } from './rules.ts';

const SOURCES = Object.keys(POD_SCHEMA.Volume ?? {}).filter((field) => field !== 'name');
const PROJECTIONS = Object.keys(POD_SCHEMA.VolumeProjection ?? {});

/** What the API server would reject in a volume of the right shape. */
export function* volumeFindings(volume: JsonObject, path: Path): Findings {
  yield* exactlyOne(volume, SOURCES, path, 'source, such as configMap or emptyDir: {}');
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

/** Defaults that the API server sets before a webhook sees a pod (k8s.io/kubernetes/pkg/apis/core/v1/defaults.go). */
const DEFAULTS: Readonly<Record<string, JsonValue>> = {
  apiVersion: 'v1',
  defaultMode: 0o644,
  expirationSeconds: 3600,
};

/** Whether two volumes are equal after the API server has set its defaults. */
export function sameVolume(a: JsonObject, b: JsonObject): boolean {
  return sameJson(withoutDefaults(a), withoutDefaults(b));
}

function withoutDefaults(value: JsonValue): JsonValue {
  if (isArray(value)) return value.map(withoutDefaults);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, item]) => !isZero(item) && !(Object.hasOwn(DEFAULTS, key) && DEFAULTS[key] === item))
      .map(([key, item]) => [key, withoutDefaults(item)]),
  );
}

/** Whether a value equals an absent field, in every field of a volume. */
function isZero(value: JsonValue): boolean {
  return value === null || value === '' || value === false || (isArray(value) && value.length === 0);
}
