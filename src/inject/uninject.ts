import { isObject, type JsonObject, type JsonValue, own, ownObjects, ownString } from './json.ts';
import type { Keys } from './keys.ts';
import type { Origin } from './moved.ts';
import { PodDraft } from './patch.ts';
import type { Path } from './path.ts';
import { annotation, nameOf, type Pod } from './pod.ts';
import { type AddedKind, parseStatus, type Status } from './status.ts';

type SpecList = 'containers' | 'initContainers' | 'volumes' | 'imagePullSecrets' | 'hostAliases';

const SPEC_LISTS: readonly SpecList[] = [
  'containers',
  'initContainers',
  'volumes',
  'imagePullSecrets',
  'hostAliases',
];
const FIELDS: readonly (readonly [AddedKind, Path])[] = [
  ['securityContext', ['spec', 'securityContext']],
  ['dnsConfig', ['spec', 'dnsConfig']],
  ['labels', ['metadata', 'labels']],
  ['annotations', ['metadata', 'annotations']],
];

/**
 * The pod as it was before it was injected, by what its status annotation says; undefined when it has none. What was
 * changed since then stays changed. A list or map that is left empty goes too: to Kubernetes it is the same as none.
 */
export function uninject(pod: Pod, keys: Keys): Pod | undefined {
  const status = parseStatus(annotation(pod, keys.status));
  if (!status) return undefined;
  const draft = new PodDraft(pod);
  for (const list of SPEC_LISTS)
    removeItems(draft, ['spec', list], new Set(status.added[list]), nameIn(list));
  giveBack(draft, status);
  for (const list of ['containers', 'initContainers'] as const) {
    for (const container of ownObjects(own(draft.pod, 'spec'), list))
      cleanContainer(draft, list, container, status);
  }
  for (const [kind, path] of FIELDS) removeFields(draft, path, status.added[kind] ?? []);
  removeFields(draft, ['metadata', 'annotations'], [keys.status]);
  removeIfEmpty(draft, ['metadata']);
  for (const list of madeLists(status)) removeIfEmpty(draft, ['spec', list]);
  return draft.pod;
}

/** The lists that injection may have made. A pod always has containers. */
function madeLists({ added, moved }: Status): readonly SpecList[] {
  const isGoal = (list: SpecList) => list === 'initContainers' && Object.keys(moved).length > 0;
  return SPEC_LISTS.filter((list) => list !== 'containers' && (added[list]?.length || isGoal(list)));
}

/** The pod's own containers that were laid over the template's, as they were and where they were. */
function giveBack(draft: PodDraft, { overlaid, moved }: Status): void {
  const away: (readonly [JsonObject, Origin])[] = [];
  for (const [name, container] of Object.entries(overlaid)) {
    const path = pathOf(draft.pod, name);
    if (!path || !isObject(container)) continue;
    const origin = Object.hasOwn(moved, name) ? moved[name] : undefined;
    if (!origin) {
      draft.replace(path, container);
      continue;
    }
    draft.remove(path);
    away.push([container, origin]);
  }
  // In the order in which they stood, each finds as many before it as there were.
  for (const [container, { list, index }] of away.toSorted(([, a], [, b]) => a.index - b.index)) {
    const length = ownObjects(own(draft.pod, 'spec'), list).length;
    draft.insert(['spec', list], container, index < length ? index : 'end');
  }
}

function pathOf(pod: Pod, name: string): Path | undefined {
  for (const list of ['containers', 'initContainers']) {
    const index = ownObjects(own(pod, 'spec'), list).findIndex((container) => nameOf(container) === name);
    if (index !== -1) return ['spec', list, index];
  }
  return undefined;
}

/** Takes away what the application's own container was given. */
function cleanContainer(draft: PodDraft, list: string, container: JsonObject, { added }: Status): void {
  const name = nameOf(container);
  const path = pathOf(draft.pod, name);
  if (!path || path[1] !== list) return;
  const given = (names: readonly string[] = []) =>
    new Set(names.filter((key) => key.startsWith(`${name}/`)).map((key) => key.slice(name.length + 1)));
  for (const [field, key] of [
    ['env', 'name'],
    ['volumeMounts', 'mountPath'],
  ] as const) {
    const names = given(added[field]);
    if (names.size === 0) continue;
    removeItems(draft, [...path, field], names, key);
    removeIfEmpty(draft, [...path, field]);
  }
}

/** What tells the items of a list apart. */
function nameIn(list: SpecList): string {
  return list === 'hostAliases' ? 'ip' : 'name';
}

/** The last first, so that the indices of the others stay. */
function removeItems(draft: PodDraft, path: Path, names: ReadonlySet<string>, key: string): void {
  const list = at(draft.pod, path);
  if (names.size === 0 || !Array.isArray(list)) return;
  for (let index = list.length - 1; index >= 0; index -= 1) {
    if (names.has(ownString(list[index], key) ?? '')) draft.remove([...path, index]);
  }
}

function removeFields(draft: PodDraft, path: Path, fields: readonly string[]): void {
  const present = fields.filter((field) => own(at(draft.pod, path), field) !== undefined);
  for (const field of present) draft.remove([...path, field]);
  if (present.length > 0) removeIfEmpty(draft, path);
}

function removeIfEmpty(draft: PodDraft, path: Path): void {
  const value = at(draft.pod, path);
  if (typeof value === 'object' && value !== null && Object.keys(value).length === 0) draft.remove(path);
}

function at(pod: Pod, path: Path): JsonValue | undefined {
  return path.reduce<JsonValue | undefined>(
    (value, segment) => (Array.isArray(value) ? value[Number(segment)] : own(value, String(segment))),
    pod,
  );
}
