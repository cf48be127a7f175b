import { isObject, type JsonValue, own, ownString } from '../util/json.ts';
import { resembles } from '../util/suggest.ts';
import { type Keys, knownAnnotations } from './keys.ts';
import type { PodSite } from './podspec/workload.ts';

const PLACES = ['labels', 'annotations'] as const;

/** Failed attempts to opt in, one sentence each. They show only in the file or the workload, not in the pod. */
export function* optInMistakes(
  { object, pod }: PodSite,
  keys: Keys,
  namespaceLabels: Readonly<Record<string, string>> = {},
): Generator<string> {
  const key = keys.optIn;
  for (const place of PLACES) {
    const value = own(own(own(pod, 'metadata'), place), key);
    if (value !== undefined && value !== null && typeof value !== 'string') {
      yield `${place} must be strings, but ${key} is ${JSON.stringify(value)}: write ${key}: "${String(value)}" with quotes`;
    }
  }
  if (PLACES.some((place) => own(own(own(pod, 'metadata'), place), key) !== undefined)) return;
  for (const place of PLACES) {
    if (own(own(own(object, 'metadata'), place), key) === undefined) continue;
    const kind = ownString(object, 'kind') ?? 'object';
    yield `${key} is in the ${place} of the ${kind} itself, which its pods never see: move it to the metadata of its pod template`;
    return;
  }
  for (const place of PLACES) {
    yield* misspelled(`${place} of the pod`, own(own(pod, 'metadata'), place), keys);
  }
  if (!Object.hasOwn(namespaceLabels, key)) {
    yield* misspelled('labels of the namespace', namespaceLabels, keys);
  }
}

/** The mistake of a Namespace whose annotations have the key of the opt-in, but not its labels. */
export function annotatedNamespace(key: string): string {
  return `${key} is in the annotations of the namespace, where it has no effect: write it into its labels`;
}

/** Keys that resemble the one of the opt-in. A value of another kind is likely somebody else's. */
function* misspelled(where: string, values: JsonValue | undefined, keys: Keys): Generator<string> {
  if (!isObject(values)) return;
  const known = knownAnnotations(keys);
  for (const [written, value] of Object.entries(values)) {
    if (!/^(true|false)$/i.test(String(value)) || known.includes(written)) continue;
    if (!resembles(written, keys.optIn)) continue;
    yield `${written} in the ${where} has no effect: did you mean ${keys.optIn}?`;
  }
}
