import { formatPath, type Path } from '../util/diagnostic.ts';
import { isArray, isObject, type JsonObject, type JsonValue, own, ownString } from '../util/json.ts';
import { excludedPorts, type Keys, ROLLOUT_KEY } from './keys.ts';
import { annotatedNamespace, autoContainers } from './mistakes.ts';
import { AUTO_IMAGE } from './podspec/pod.ts';
import {
  formatTemplatePath,
  isWorkload,
  objectsOf,
  type PodTemplateRule,
  podSites,
  templateless,
  typeOf,
} from './podspec/workload.ts';

/** One of our keys, or a container with the image `auto`, and the place of it in an object. */
interface Found {
  readonly path: Path;
  readonly what: string;
  readonly value: JsonValue;
  readonly isContainer: boolean;
}

/** The objects of documents with one of our keys, or with the image `auto`, where it has no effect: a sentence for each. */
export function* strayKeys(
  documents: readonly JsonValue[],
  rules: readonly PodTemplateRule[],
  keys: Keys,
  others: readonly string[] = [],
): Generator<readonly [object: JsonObject, message: string]> {
  const { optIn, templates, overrides } = keys;
  const ours = new Set([
    optIn,
    templates,
    ROLLOUT_KEY,
    ...Object.values(overrides),
    ...excludedPorts(keys),
    ...others,
  ]);
  const objects = documents
    .flatMap((document) => [...objectsOf(document)])
    .map(([object]) => ({ object, pods: Array.from(podSites(object, rules), ({ pod }) => pod) }));
  const inPods = new Set(objects.flatMap(({ pods }) => pods.flatMap((pod) => [...ourKeysOf(pod, ours)])));
  for (const { object, pods } of objects) {
    if (!templateless(object).next().done) continue;
    const isKnown = isWorkload(object, rules);
    const own = new Set(pods.flatMap((pod) => [...ourKeysOf(pod, ours)]));
    const told = new Set<string>();
    const seen = new Set(pods.flatMap((pod) => [pod, ...Object.values(pod)]));
    for (const found of search(object, [], ours, seen)) {
      const { what, path, value } = found;
      const isTop = path[0] === 'metadata';
      // Kustomize's commonLabels are everywhere.
      const isCommon = isKnown ? own.has(what) : isTop && inPods.has(what);
      // optInMistakes and networkMistakes tell of these.
      const isTold =
        told.has(what) || (pods.length > 0 && isTop && (what === keys.optIn || others.includes(what)));
      const isWished = !isKnown && what === keys.optIn && value === 'false';
      if (isCommon || isTold || isWished) continue;
      const message = messageOf(object, found, isKnown, keys);
      if (message === undefined) continue;
      told.add(what);
      yield [object, message];
    }
  }
}

function* ourKeysOf(pod: JsonObject, ours: ReadonlySet<string>): Generator<string> {
  for (const { what } of search(own(pod, 'metadata') ?? null, [], ours, new Set())) yield what;
}

/** All at any depth, but not in what is skipped, nor in selectors, which only compare. */
function* search(
  value: JsonValue,
  path: Path,
  ours: ReadonlySet<string>,
  skipped: ReadonlySet<JsonValue>,
): Generator<Found> {
  if (skipped.has(value)) return;
  if (isArray(value))
    for (const [i, item] of value.entries()) yield* search(item, [...path, i], ours, skipped);
  if (!isObject(value)) return;
  for (const [name, item] of Object.entries(value)) {
    const at = [...path, name];
    if (name === 'managedFields' || (name === 'status' && path.length === 0)) continue;
    if (/labels$|annotations$/i.test(name) && name !== 'matchLabels' && isObject(item)) {
      for (const [key, given] of Object.entries(item))
        if (ours.has(key) && given !== null) yield { path: at, what: key, value: given, isContainer: false };
      continue;
    }
    if (name === 'containers' || name === 'initContainers')
      for (const what of autoContainers(item)) yield { path: at, what, value: AUTO_IMAGE, isContainer: true };
    yield* search(item, at, ours, skipped);
  }
}

function messageOf(
  object: JsonObject,
  { what, path, value, isContainer }: Found,
  isKnown: boolean,
  keys: Keys,
): string | undefined {
  const kind = ownString(object, 'kind') ?? 'object';
  const where = formatPath(path);
  if (kind === 'Namespace') {
    const [, place] = path;
    if (place === 'labels' && what === keys.optIn)
      return value === 'true' || value === 'false'
        ? undefined
        : `${what} in ${where} is ${JSON.stringify(value)}: write "true" or "false"`;
    if (what === (place === 'labels' ? ROLLOUT_KEY : keys.templates)) return undefined;
    if (what !== keys.optIn) return `${what} in ${where} has no effect: write it into the metadata of a pod`;
    const labels = own(own(object, 'metadata'), 'labels');
    return own(labels, what) === undefined ? annotatedNamespace(what) : undefined;
  }
  const subject = isContainer ? `the image ${AUTO_IMAGE} of container ${what}` : what;
  if (isKnown)
    return `${subject} in ${where} has no effect, because the pods of the ${kind} never see it: move it to their template`;
  const end = isContainer ? path.lastIndexOf('spec') : path.length - 2;
  const template =
    end > 0 && path[end] === (isContainer ? 'spec' : 'metadata') ? path.slice(0, end) : undefined;
  if (path[0] === 'metadata')
    return `${subject} in ${where} has no effect: write it into the metadata of a pod or pod template`;
  const advice = template
    ? `use --pod-template-path ${typeOf(object)}=${formatTemplatePath(template)}`
    : 'only the webhook can inject its pods';
  return `${subject} in ${where} has no effect here, because ${typeOf(object)} is an unknown kind: ${advice}`;
}
