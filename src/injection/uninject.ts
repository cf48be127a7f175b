import type { Path } from '../util/diagnostic.ts';
import { isArray, isObject, type JsonObject, own, ownObjects, ownString, valueAt } from '../util/json.ts';
import { PodPatchBuilder } from '../util/patch.ts';
import type { Keys } from './keys.ts';
import { AUTO_IMAGE, annotation, containerFinder, containers, type Pod } from './podspec/pod.ts';
import { type Origin, parseStatus, type Status } from './status.ts';
import { APP_KINDS, isOfMetadata, KINDS, LIST_KINDS, MAP_KINDS } from './template/template.ts';

/**
 * The pod as it was before its injection, by its status annotation; undefined if it has none, or one that would take all
 * containers. Later changes stay. Lists and maps that become empty are removed, because Kubernetes treats them as absent.
 */
export function uninject(pod: Pod, keys: Keys): Pod | undefined {
  const status = parseStatus(annotation(pod, keys.status));
  if (!status) return undefined;
  const patch = new PodPatchBuilder(pod);
  for (const list of LIST_KINDS)
    removeItems(patch, ['spec', list], new Set(status.added[list]), KINDS[list].key);
  giveBack(patch, status);
  shrinkRequests(patch, status);
  cleanContainers(patch, status);
  for (const kind of MAP_KINDS)
    removeFields(patch, [isOfMetadata(kind) ? 'metadata' : 'spec', kind], new Set(status.added[kind]));
  removeFields(patch, ['metadata', 'annotations'], new Set([keys.status]));
  removeIfEmpty(patch, ['metadata']);
  // The lists that injection may have created.
  const { added, moved } = status;
  for (const list of LIST_KINDS)
    if (added[list]?.length || (list === 'initContainers' && Object.keys(moved).length > 0))
      removeIfEmpty(patch, ['spec', list]);
  return containers(patch.pod).length > 0 ? patch.pod : undefined;
}

/** Restores the pod's own containers that were merged with the template's, at their original places. */
function giveBack(patch: PodPatchBuilder, { overlaid, moved }: Status): void {
  const find = containerFinder(patch.pod);
  const away: (readonly [JsonObject, Origin])[] = [];
  const left: Origin[] = [];
  for (const [name, container] of Object.entries(overlaid)) {
    const place = find(name);
    // Only overrides are merged. Anything else would replace a container of the application.
    if (!place || own(container, 'image') !== AUTO_IMAGE || !isObject(container)) continue;
    const origin = Object.hasOwn(moved, name) ? moved[name] : undefined;
    if (!origin) {
      patch.replace(pathOf(place), container);
      continue;
    }
    left.push(place);
    away.push([container, origin]);
  }
  // Remove the last one first, so that the indices of the others stay valid.
  for (const place of left.toSorted((a, b) => b.index - a.index)) patch.remove(pathOf(place));
  // Insert in the original order, so that the original indices are valid.
  for (const [container, { list, index }] of away.toSorted(([, a], [, b]) => a.index - b.index)) {
    const { length } = ownObjects(own(patch.pod, 'spec'), list);
    patch.insert(['spec', list], container, Math.min(index, length));
  }
}

/** Restores the pod's own requests that grew with the sidecar. */
function shrinkRequests(patch: PodPatchBuilder, { requests }: Status): void {
  const path = ['spec', 'resources', 'requests'];
  for (const [name, before] of Object.entries(requests)) {
    if (before === null) removeFields(patch, path, new Set([name]));
    else if (own(valueAt(patch.pod, path), name) !== undefined) patch.replace([...path, name], before);
  }
}

function pathOf({ list, index }: Origin): Path {
  return ['spec', list, index];
}

/** Removes the additions from the application's containers, which the status has as `CONTAINER/ITEM`. */
function cleanContainers(patch: PodPatchBuilder, { added }: Status): void {
  for (const field of APP_KINDS) {
    // If containers share a name, the first one changed.
    const find = containerFinder(patch.pod);
    const texts = (added[field] ?? []).filter((text) => text.includes('/'));
    for (const [name, ofName] of Map.groupBy(texts, (text) => text.slice(0, text.indexOf('/')))) {
      const place = find(name);
      if (!place) continue;
      const path = [...pathOf(place), field];
      const items = new Set(ofName.map((text) => text.slice(name.length + 1)));
      removeItems(patch, path, items, KINDS[field].key);
      removeIfEmpty(patch, path);
    }
  }
}

/** Removes the last item first, so that the indices of the others stay valid. */
function removeItems(patch: PodPatchBuilder, path: Path, names: ReadonlySet<string>, key: string): void {
  const list = valueAt(patch.pod, path);
  if (!isArray(list)) return;
  for (const [index, item] of [...list.entries()].toReversed()) {
    const name = ownString(item, key);
    if (name !== undefined && names.has(name)) patch.remove([...path, index]);
  }
}

function removeFields(patch: PodPatchBuilder, path: Path, fields: ReadonlySet<string>): void {
  for (const field of fields) {
    if (own(valueAt(patch.pod, path), field) === undefined) continue;
    patch.remove([...path, field]);
    removeIfEmpty(patch, path);
  }
}

function removeIfEmpty(patch: PodPatchBuilder, path: Path): void {
  const value = valueAt(patch.pod, path);
  if (typeof value === 'object' && value !== null && Object.keys(value).length === 0) patch.remove(path);
}
