import { isArray, isObject, type JsonObject, type JsonValue, own } from '../util/json.ts';
import { MAX_LENGTH } from '../util/text-bounds.ts';
import { DEFAULT_CONTAINER_KEY } from './inject.ts';
import type { Keys } from './keys.ts';
import { SCRAPING } from './merge.ts';
import { AUTO_IMAGE, MIRROR_ANNOTATION, nameOf, type Pod, SECCOMP_ANNOTATION } from './podspec/pod.ts';
import type { TemplateSet } from './template/template-set.ts';

/** What injection reads of a container that no template names. */
const CONTAINER_FIELDS = ['name', 'ports', 'restartPolicy', 'securityContext', 'lifecycle', 'resources'];
/** The fields of a pod's spec that injection does not read. */
const UNREAD: ReadonlySet<string> = new Set([
  ...['activeDeadlineSeconds', 'affinity', 'automountServiceAccountToken', 'dnsPolicy', 'enableServiceLinks'],
  ...[
    'hostname',
    'nodeName',
    'overhead',
    'preemptionPolicy',
    'priority',
    'priorityClassName',
    'readinessGates',
  ],
  ...['runtimeClassName', 'schedulerName', 'schedulingGates', 'serviceAccount', 'serviceAccountName'],
  ...['shareProcessNamespace', 'subdomain', 'tolerations', 'topologySpreadConstraints'],
]);
/** The lists of the spec to which templates add, with the key of their items. */
const LISTS = { volumes: 'name', imagePullSecrets: 'name', hostAliases: 'ip' } as const;
/** A quarter of the limit of annotations, in characters of three bytes: for those of a pod, and for those of injection. */
const MOST_TEXT = MAX_LENGTH / 4 / 3;

/**
 * Returns a function that reduces a pod to what injection reads of it: many pods have one view. What `inject` does to a
 * view holds for all of them, because it gets nothing else. Undefined for templates and pods with few in common, of which
 * `inject` must see the whole: among them pods that override, or have an item of, a template.
 */
export function podViewer({ templates }: TemplateSet, keys: Keys): (pod: Pod) => Pod | undefined {
  const all = [...templates.values()];
  const isForAll = all.every(
    ({ namesWorkload, env, volumeMounts }) => !namesWorkload && env.length + volumeMounts.length === 0,
  );
  if (!isForAll || JSON.stringify(all).length > MOST_TEXT) return () => undefined;
  const names = new Set(all.flatMap((each) => [...each.containers, ...each.initContainers]).map(nameOf));
  const labels = new Set([keys.optIn, ...all.flatMap((each) => Object.keys(each.labels))]);
  const annotations = new Set([
    ...[MIRROR_ANNOTATION, SECCOMP_ANNOTATION, DEFAULT_CONTAINER_KEY],
    ...all.flatMap((each) => Object.keys(each.annotations)),
  ]);
  const isOurs = (item: JsonValue, list: keyof typeof LISTS) =>
    all.some((each) => each[list].some((ours) => ours[LISTS[list]] === own(item, LISTS[list])));
  const isPlain = (container: JsonValue) =>
    isObject(container) && !names.has(nameOf(container)) && own(container, 'image') !== AUTO_IMAGE;

  return ({ metadata, spec }) => {
    if (!isObject(metadata) || !isObject(spec) || textIn(own(metadata, 'annotations')) > MOST_TEXT)
      return undefined;
    const view = new Map(Object.entries(spec).filter(([field]) => !UNREAD.has(field)));
    for (const list of ['containers', 'initContainers']) {
      const items = view.get(list);
      if (!isArray(items)) continue;
      if (!items.every(isPlain)) return undefined;
      view.set(
        list,
        items.map((item) => picked(item, CONTAINER_FIELDS)),
      );
    }
    for (const list of ['volumes', 'imagePullSecrets', 'hostAliases'] as const) {
      const items = view.get(list);
      if (!isArray(items)) continue;
      if (items.some((item) => isOurs(item, list))) return undefined;
      view.set(list, []);
    }
    const kept = (map: string, isKept: (key: string) => boolean) => {
      const given = own(metadata, map);
      if (given === undefined) return {};
      return { [map]: isObject(given) ? picked(given, Object.keys(given).filter(isKept)) : given };
    };
    const isKnown = (key: string) =>
      annotations.has(key) || key.startsWith(keys.optIn) || key.startsWith(SCRAPING);
    return {
      metadata: { ...kept('labels', (key) => labels.has(key)), ...kept('annotations', isKnown) },
      spec: Object.fromEntries(view),
    };
  };
}

function picked(object: JsonValue, keys: readonly string[]): JsonObject {
  return Object.fromEntries(
    keys.flatMap((key): [string, JsonValue][] => {
      const value = own(object, key);
      return value === undefined ? [] : [[key, value]];
    }),
  );
}

function textIn(map: JsonValue | undefined): number {
  let length = 0;
  if (isObject(map)) for (const key in map) length += key.length + String(map[key]).length;
  return length;
}
