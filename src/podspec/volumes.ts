import { isArray, isObject, type JsonObject, type JsonValue, sameJson } from '../json/json.ts';

/** What the API server fills in before a webhook sees a pod (k8s.io/kubernetes/pkg/apis/core/v1/defaults.go). */
const DEFAULTS: Readonly<Record<string, JsonValue>> = {
  apiVersion: 'v1',
  defaultMode: 0o644,
  expirationSeconds: 3600,
};

/** Whether two volumes are the same once the API server has filled in what one of them leaves out. */
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

/** What is the same as nothing in every field of a volume. */
function isZero(value: JsonValue): boolean {
  return value === null || value === '' || value === false || (isArray(value) && value.length === 0);
}
