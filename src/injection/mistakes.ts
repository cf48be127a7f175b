import { quoteText } from '../util/clip.ts';
import { isObject, type JsonValue, own, ownObject, ownString } from '../util/json.ts';
import { resembles } from '../util/suggest.ts';
import type { Injection } from './inject.ts';
import { excludedPorts, type Keys, knownAnnotations } from './keys.ts';
import { AUTO_IMAGE, nameOf } from './podspec/pod.ts';
import type { PodSite } from './podspec/workload.ts';
import { overridesIn } from './template/container-override.ts';

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
    yield `${key} is in the ${place} of the ${kind} itself, which its pods do not inherit: move it to the metadata of its pod template`;
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
  return `${key} is in the annotations of the namespace, where it has no effect: move it to the labels`;
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

/** Istio's own container has that image, too. */
const ISTIO_CONTAINER = 'istio-proxy';

/** Whether it is a list of ports, as capture.sh reads it: iptables takes numbers that start with 0 as octal ones. */
function arePorts(list: string): boolean {
  return list
    .split(/[\s,]+/)
    .every((port) => port === '' || (/^[1-9]\d{0,4}$/.test(port) && Number(port) <= 65_535));
}

/** What a pod asks for of a sidecar that it does not get, or whose template does not know it: one sentence each. */
export function* effectMistakes({ pod }: PodSite, injection: Injection, keys: Keys): Generator<string> {
  const annotations = ownObject(own(pod, 'metadata'), 'annotations');
  const labels = own(own(pod, 'metadata'), 'labels');
  for (const key of [keys.templates, ...Object.values(keys.overrides), ...excludedPorts(keys)])
    if (own(labels, key) !== undefined)
      yield `label ${key} has no effect: move it to the annotations of the pod`;
  if (injection.outcome === 'injected') {
    const spec = JSON.stringify(own(injection.pod, 'spec'));
    for (const key of excludedPorts(keys)) {
      const value = ownString(annotations, key);
      if (value === undefined) continue;
      if (!arePorts(value))
        yield `annotation ${key} is ${quoteText(value, 32)}: write ports from 1 to 65535, separated by commas`;
      else if (!spec.includes(key) && !spec.includes('"metadata.annotations"'))
        yield `annotation ${key} has no effect: the template does not read it`;
    }
    return;
  }
  const { reason } = injection.skip;
  if (reason === 'already-injected') return;
  for (const name of overridesIn(pod).map(({ container }) => nameOf(container)))
    if (name !== ISTIO_CONTAINER)
      yield `container ${name} has the image ${AUTO_IMAGE}, but its pod gets no sidecar, so it cannot start: set an image, or opt in`;
  if (reason !== 'not-opted-in') return;
  for (const key of Object.keys(annotations))
    if (key.startsWith(`${keys.optIn}-`) && key !== keys.status && key !== `${keys.optIn}-routes`)
      yield `annotation ${key} has no effect without the opt-in ${keys.optIn}: "true"`;
}
