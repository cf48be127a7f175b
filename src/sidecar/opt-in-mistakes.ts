import { own, ownString } from '../json/json.ts';
import type { PodSite } from '../podspec/workload.ts';
import type { Keys } from './keys.ts';

const PLACES = ['labels', 'annotations'] as const;

/** Failed attempts to opt in, one sentence each. They show only in the file or the workload, not in the pod. */
export function* optInMistakes({ object, pod }: PodSite, { optIn: key }: Keys): Generator<string> {
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
}
