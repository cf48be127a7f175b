import type { Path } from '../../util/diagnostic.ts';
import {
  isArray,
  isObject,
  type JsonObject,
  type JsonValue,
  own,
  ownObject,
  ownObjects,
  ownString,
  valueAt,
} from '../../util/json.ts';
import { CUSTOM_KINDS, WORKLOAD_KINDS } from './workload-kinds.ts';

/** Where a kind of object holds a pod template. Users can add rules for their own kinds. */
export interface PodTemplateRule {
  readonly kind: string;
  /** The API group; undefined for a kind of that name in any group. */
  readonly group: string | undefined;
  /** The version in that group; undefined for all. */
  readonly version?: string | undefined;
  /** The steps down to the object with the pods' `metadata` and `spec`. */
  readonly path: readonly PathStep[];
  /** Whether an object without that template is right. */
  readonly isOptional?: boolean;
}

/** A key, or all items of a list, or all values of a mapping. */
export type PathStep = string | typeof EACH_ITEM | typeof EACH_VALUE;
const EACH_ITEM = Symbol('[]');
const EACH_VALUE = Symbol('*');

/** Parses a path such as `spec.tasks[].template` or `spec.replicas.*.template`; undefined if it is not one. */
export function parseTemplatePath(text: string): readonly PathStep[] | undefined {
  const steps = text.split('.').map((step): readonly PathStep[] | undefined => {
    const [, key, lists = ''] = /^([^[\]=]+)((?:\[\])*)$/.exec(step) ?? [];
    if (key === undefined) return undefined;
    return [key === '*' ? EACH_VALUE : key, ...Array<PathStep>(lists.length / 2).fill(EACH_ITEM)];
  });
  return steps.includes(undefined) ? undefined : steps.flatMap((step) => step ?? []);
}

const KNOWN: readonly PodTemplateRule[] = [
  ...WORKLOAD_KINDS.flatMap(({ kind, group, formerGroup, path }) => [
    { kind, group, path },
    ...(formerGroup === undefined ? [] : [{ kind, group: formerGroup, path }]),
  ]),
  ...CUSTOM_KINDS.flatMap(({ kind, group, paths }) =>
    paths.map((path) => ({ kind, group, path: parseTemplatePath(path) ?? [], isOptional: true })),
  ),
];

/** A pod or pod template inside a document. */
export interface PodSite {
  /** The pod itself, or the workload that holds the template. */
  readonly object: JsonObject;
  /** The path of the pod in the document. */
  readonly path: Path;
  /** Its `metadata` and `spec`, as they are written. */
  readonly pod: JsonObject;
}

/**
 * Every object of a document. Yields the items of a List instead of the List. As in kubectl, each object with `items` is
 * a list, and those of a typed list, such as a PodList, may lack their kind, which the API server leaves out.
 */
export function* objectsOf(document: JsonValue, path: Path = []): Generator<readonly [JsonObject, Path]> {
  if (!isObject(document)) return;
  const items = own(document, 'items');
  const kind = ownString(document, 'kind')?.replace(/List$/, '');
  if (kind === undefined || !isArray(items)) {
    yield [document, path];
    return;
  }
  const { apiVersion = null } = document;
  for (const [index, item] of items.entries()) {
    const isBare =
      kind !== '' && isObject(item) && !(ownString(item, 'kind') && ownString(item, 'apiVersion'));
    yield* objectsOf(isBare ? { ...item, apiVersion, kind } : item, [...path, 'items', index]);
  }
}

/** Whether the object is the pod itself, and not a workload. */
export function isPod({ object }: PodSite): boolean {
  return ownString(object, 'kind') === 'Pod' && groupOf(object) === '';
}

/**
 * Every pod and pod template of a document, in the order of the text; `pod` is empty if a workload has no template.
 * Rules of users for a kind replace those that are known.
 */
export function* podSites(document: JsonValue, rules: readonly PodTemplateRule[] = []): Generator<PodSite> {
  for (const [object, path] of objectsOf(document)) {
    const given = rules.filter((rule) => fits(rule, object));
    const all = given.length > 0 ? given : KNOWN.filter((rule) => fits(rule, object));
    const written = valueAt(document, path);
    const sites = all.flatMap((rule) => [...sitesAt(object, path, written, rule.path)]);
    yield* sites;
    const keys = all.find(({ isOptional }) => !isOptional)?.path.filter((step) => typeof step === 'string');
    if (sites.length === 0 && keys) yield { object, path: [...path, ...keys], pod: {} };
  }
}

function* sitesAt(
  object: JsonObject,
  path: Path,
  value: JsonValue | undefined,
  [step, ...steps]: readonly PathStep[],
): Generator<PodSite> {
  if (step === undefined) {
    if (isObject(value)) yield { object, path, pod: value };
  } else if (typeof step === 'string') {
    yield* sitesAt(object, [...path, step], own(value, step), steps);
  } else if (step === EACH_ITEM && isArray(value)) {
    for (const [index, item] of value.entries()) yield* sitesAt(object, [...path, index], item, steps);
  } else if (step === EACH_VALUE && isObject(value)) {
    for (const [key, item] of Object.entries(value)) yield* sitesAt(object, [...path, key], item, steps);
  }
}

/**
 * The pod that the controller of a workload makes of its template. A StatefulSet's claims become volumes, in place of
 * the template's volumes of their names.
 */
export function createdPod(object: JsonObject, pod: JsonObject): JsonObject {
  if (!fits({ kind: 'StatefulSet', group: 'apps' }, object)) return pod;
  const claims = ownObjects(own(object, 'spec'), 'volumeClaimTemplates');
  if (claims.length === 0) return pod;
  const names = claims.map((claim) => ownString(own(claim, 'metadata'), 'name') ?? '');
  const workload = ownString(own(object, 'metadata'), 'name') ?? '';
  const added = names.map((name) => ({
    name,
    persistentVolumeClaim: { claimName: `${name}-${workload}-0` },
  }));
  const spec = ownObject(pod, 'spec');
  const others = ownObjects(spec, 'volumes').filter(
    (volume) => !names.includes(ownString(volume, 'name') ?? ''),
  );
  return { ...pod, spec: { ...spec, volumes: [...added, ...others] } };
}

/** The template for which injection of its `createdPod` gave this pod: with what was added, and its own volumes. */
export function asTemplate(template: JsonObject, created: JsonObject, injected: JsonObject): JsonObject {
  if (created === template) return injected;
  const [before, after] = [own(template, 'spec'), own(injected, 'spec')];
  const added = ownObjects(after, 'volumes').slice(ownObjects(own(created, 'spec'), 'volumes').length);
  const volumes = added.length > 0 ? [...ownObjects(before, 'volumes'), ...added] : own(before, 'volumes');
  if (!isObject(after)) return injected;
  if (volumes !== undefined) return { ...injected, spec: { ...after, volumes } };
  const { volumes: _, ...spec } = after;
  return { ...injected, spec };
}

/** The objects of unknown kinds that have a pod template where most workloads have it. */
export function* unknownWorkloads(
  document: JsonValue,
  rules: readonly PodTemplateRule[] = [],
): Generator<JsonObject> {
  for (const [object] of objectsOf(document)) {
    if ([...rules, ...KNOWN].some((rule) => fits(rule, object))) continue;
    if (isArray(own(own(own(own(object, 'spec'), 'template'), 'spec'), 'containers'))) yield object;
  }
}

function fits(rule: Pick<PodTemplateRule, 'kind' | 'group' | 'version'>, object: JsonObject): boolean {
  const { kind, group, version } = rule;
  if (ownString(object, 'kind') !== kind || (group !== undefined && groupOf(object) !== group)) return false;
  return version === undefined || (ownString(object, 'apiVersion') ?? '').split('/').at(-1) === version;
}

/** The kind with its group, such as `Rollout.argoproj.io`. */
export function typeOf(object: JsonObject): string {
  const [kind, group] = [ownString(object, 'kind') ?? '', groupOf(object)];
  return group === '' ? kind : `${kind}.${group}`;
}

function groupOf(object: JsonObject): string {
  const apiVersion = ownString(object, 'apiVersion') ?? '';
  return apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
}

/** The object as kubectl writes it, such as `deployment/web`; with generateName if it has no name yet. */
export function describeObject(object: JsonObject): string {
  const metadata = own(object, 'metadata');
  const name = ownString(metadata, 'name') ?? `${ownString(metadata, 'generateName') ?? ''}*`;
  return `${(ownString(object, 'kind') ?? 'object').toLowerCase()}/${name}`;
}

/** The namespace of an object, or the default one if it names none. */
export function namespaceOf({ object }: PodSite, byDefault: string): string {
  return ownString(own(object, 'metadata'), 'namespace') || byDefault;
}
