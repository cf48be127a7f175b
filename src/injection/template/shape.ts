import { createHash } from 'node:crypto';
import { canonicalJson, isArray, isObject, type JsonObject, type JsonValue, own } from '../../util/json.ts';

/** The resources that the kubelet can change in a running pod (KEP-1287). */
const RESIZABLE = ['cpu', 'memory'];

/**
 * sha256 in hex of what a template adds to a pod, without what a rollout changes in a running pod: images, cpu and
 * memory of containers. A pod can get another template in place only if both have the same shape.
 */
export function shapeHash(metadata: JsonValue, spec: JsonValue): string {
  const fixed = {
    metadata,
    spec: isObject(spec)
      ? {
          ...spec,
          ...blanked(spec, 'containers'),
          ...blanked(spec, 'initContainers'),
        }
      : spec,
  };
  return createHash('sha256').update(canonicalJson(fixed)).digest('hex');
}

function blanked(spec: JsonObject, list: string): JsonObject {
  const containers = own(spec, list);
  return isArray(containers) ? { [list]: containers.map(withoutMutable) } : {};
}

function withoutMutable(container: JsonValue): JsonValue {
  const rest = without(container, ['image', 'resources']);
  const resources = own(container, 'resources');
  if (!isObject(rest) || !isObject(resources)) return rest;
  const fixed = Object.fromEntries(
    Object.entries(resources).map(([key, amounts]) => [
      key,
      key === 'limits' || key === 'requests' ? without(amounts, RESIZABLE) : amounts,
    ]),
  );
  const kept = Object.entries(fixed).filter(([, amounts]) => !isObject(amounts) || !isEmpty(amounts));
  return kept.length === 0 ? rest : { ...rest, resources: Object.fromEntries(kept) };
}

function isEmpty(object: JsonObject): boolean {
  return Object.keys(object).length === 0;
}

function without(value: JsonValue, keys: readonly string[]): JsonValue {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key)));
}
