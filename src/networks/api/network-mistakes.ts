import type { PodSite } from '../../injection/podspec/workload.ts';
import { isObject, type JsonValue, own, ownString } from '../../util/json.ts';
import { resembles } from '../../util/suggest.ts';
import { NETWORK_ANNOTATION } from './names.ts';

const PLACES = ['labels', 'annotations'] as const;
type Place = (typeof PLACES)[number];

/** Failed attempts of a pod to ask for Networks, one sentence each: such a pod starts without them. */
export function* networkMistakes({ object, pod }: PodSite): Generator<string> {
  const key = NETWORK_ANNOTATION;
  if (has(pod, 'annotations')) return;
  if (has(pod, 'labels')) {
    yield `${key} is in the labels of the pod, where it has no effect: write it into its annotations`;
    return;
  }
  const place = PLACES.find((each) => has(object, each));
  if (place !== undefined) {
    const kind = ownString(object, 'kind') ?? 'object';
    yield `${key} is in the ${place} of the ${kind} itself, which its pods do not inherit: move it to the annotations of its pod template`;
    return;
  }
  for (const each of PLACES) {
    const values = entriesOf(pod, each);
    const written = isObject(values) ? Object.keys(values).filter((found) => resembles(found, key)) : [];
    for (const found of written)
      yield `${found} in the ${each} of the pod has no effect: did you mean the annotation ${key}?`;
  }
}

function entriesOf(holder: JsonValue, place: Place): JsonValue | undefined {
  return own(own(holder, 'metadata'), place);
}

function has(holder: JsonValue, place: Place): boolean {
  return own(entriesOf(holder, place), NETWORK_ANNOTATION) !== undefined;
}
