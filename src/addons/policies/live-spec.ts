import { isObject, type JsonObject, sameJson } from '../../util/json.ts';

/** Defaults of the API server (k8s.io/kubernetes/pkg/apis/admissionregistration/v1/defaults.go). */
export const MATCH_DEFAULTS: JsonObject = {
  matchPolicy: 'Equivalent',
  namespaceSelector: {},
  objectSelector: {},
};

/** Whether a spec from the API server equals the one that we wrote. */
export function isSpec(live: JsonObject, written: JsonObject): boolean {
  return sameJson(withDefaults(live), withDefaults(written));
}

function withDefaults(spec: JsonObject): JsonObject {
  const matches = ['matchConstraints', 'matchResources'].flatMap((field) => {
    const match = spec[field];
    return isObject(match) ? [[field, { ...MATCH_DEFAULTS, ...match }]] : [];
  });
  return { ...spec, ...Object.fromEntries(matches) };
}
