import { isArray, isObject, type JsonObject, type JsonValue, own, ownString } from '../json/json.ts';
import type { Path } from '../json/path.ts';
import { WORKLOAD_KINDS } from './workload-kinds.ts';

/** Where a kind of object holds its pod template. Users can add rules for their own kinds. */
export interface PodTemplateRule {
  readonly kind: string;
  /** The API group; undefined for a kind of that name in any group. */
  readonly group: string | undefined;
  /** The keys down to the object with the pods' `metadata` and `spec`. */
  readonly path: readonly string[];
}

const KNOWN: readonly PodTemplateRule[] = WORKLOAD_KINDS.flatMap(({ kind, group, formerGroup, path }) => [
  { kind, group, path },
  ...(formerGroup === undefined ? [] : [{ kind, group: formerGroup, path }]),
]);

/** A pod or pod template inside a document. */
export interface PodSite {
  /** The pod itself, or the workload that holds the template. */
  readonly object: JsonObject;
  /** The path of the pod in the document. */
  readonly path: Path;
  /** Its `metadata` and `spec`, as the webhook sees them. */
  readonly pod: JsonObject;
}

/** Every object of a document. Yields the items of a List instead of the List. */
export function* objectsOf(document: JsonValue, path: Path = []): Generator<readonly [JsonObject, Path]> {
  if (!isObject(document)) return;
  const items = own(document, 'items');
  if (!ownString(document, 'kind')?.endsWith('List') || !isArray(items)) {
    yield [document, path];
    return;
  }
  for (const [index, item] of items.entries()) yield* objectsOf(item, [...path, 'items', index]);
}

/** Every pod and pod template of a document, in the order of the text; `pod` is empty if a workload has no template. */
export function* podSites(document: JsonValue, rules: readonly PodTemplateRule[] = []): Generator<PodSite> {
  for (const [object, path] of objectsOf(document)) {
    const rule = [...rules, ...KNOWN].find((candidate) => fits(candidate, object));
    if (!rule) continue;
    const pod = rule.path.reduce<JsonValue | undefined>(own, object);
    yield { object, path: [...path, ...rule.path], pod: isObject(pod) ? pod : {} };
  }
}

/** The path of the spec that the pod or pod template of an object lacks, such as `spec.template.spec`. */
export function missingSpec({ path, pod }: PodSite): string | undefined {
  if (isObject(own(pod, 'spec'))) return undefined;
  // Of the path in the document, the part in the object begins after the items of Lists.
  const inObject = path.slice(path.findLastIndex((segment) => typeof segment === 'number') + 1);
  return [...inObject, 'spec'].join('.');
}

function fits({ kind, group }: PodTemplateRule, object: JsonObject): boolean {
  return ownString(object, 'kind') === kind && (group === undefined || groupOf(object) === group);
}

function groupOf(object: JsonObject): string {
  const apiVersion = ownString(object, 'apiVersion') ?? '';
  return apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
}

/** A new value for a path. */
export type Replacement = readonly [path: Path, value: JsonValue];

/** The document with new values at these paths. All other parts are shared with the given document. */
export function replaceAt(document: JsonValue, replacements: readonly Replacement[], depth = 0): JsonValue {
  const whole = replacements.find(([path]) => path.length === depth);
  if (whole) return whole[1];
  const below = new Map<string | number | undefined, Replacement[]>();
  for (const replacement of replacements) {
    const segment = replacement[0][depth];
    const others = below.get(segment);
    if (others) others.push(replacement);
    else below.set(segment, [replacement]);
  }
  const replaced = (segment: string | number, item: JsonValue): JsonValue => {
    const inside = below.get(segment);
    return inside ? replaceAt(item, inside, depth + 1) : item;
  };
  if (isArray(document)) return document.map((item, index) => replaced(index, item));
  if (!isObject(document))
    throw new TypeError(`there is no value at ${String(replacements[0]?.[0][depth])} to replace`);
  // A spread with a computed `__proto__` would set the prototype.
  return Object.fromEntries(Object.entries(document).map(([key, item]) => [key, replaced(key, item)]));
}

/** The object as kubectl writes it, such as `deployment/web`; with generateName if it has no name yet. */
export function describeObject(object: JsonObject): string {
  const metadata = own(object, 'metadata');
  const name = ownString(metadata, 'name') ?? `${ownString(metadata, 'generateName') ?? ''}*`;
  return `${(ownString(object, 'kind') ?? 'object').toLowerCase()}/${name}`;
}
