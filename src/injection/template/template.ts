import {
  deepFreeze,
  hashOf,
  isObject,
  type JsonObject,
  type JsonValue,
  own,
  ownObject,
  ownObjects,
  withoutNulls,
} from '../../util/json.ts';
import type { IncompatibleShape } from './pod-shapes.ts';

/**
 * A template that was checked and prepared once: an injection does not parse, check or copy it. It is deeply
 * frozen, because its parts become parts of many pods.
 */
export interface Template extends TemplateFields {
  /** `config` for the default template; `NAME` for the key `config.NAME`. */
  readonly name: string;
  /** sha256 of the content in hex. Comments and layout do not change it. */
  readonly hash: string;
  /** The hash without what a rollout can change in a running pod: see shapeHash. */
  readonly shape: string;
  /** The shapes of pods that the API server refuses with it; empty until it is proved. */
  readonly incompatibleShapes: readonly IncompatibleShape[];
}

/** Prepares a template from valid content. */
export function prepareTemplate(name: string, metadata: JsonObject, spec: JsonObject): Template {
  const content = deepFreeze(withoutNulls({ metadata, spec }));
  const fields = Object.fromEntries(
    (Object.keys(KINDS) as Kind[]).map((kind) => {
      const part = own(content, isOfMetadata(kind) ? 'metadata' : 'spec');
      return [kind, KINDS[kind].to === 'map' ? ownObject(part, kind) : ownObjects(part, kind)];
    }),
  ) as unknown as TemplateFields;
  return Object.freeze({
    ...fields,
    name,
    hash: hashOf(content),
    shape: shapeHash(content),
    // What the API server makes of them.
    volumes: deepFreeze(
      fields.volumes.map((volume) =>
        Object.keys(volume).some((field) => field !== 'name') ? volume : { ...volume, emptyDir: {} },
      ),
    ),
    imagePullSecrets: uniqueNames(fields.imagePullSecrets),
    incompatibleShapes: [],
  });
}

function uniqueNames(list: readonly JsonObject[]): readonly JsonObject[] {
  const byName = Map.groupBy(list, (item) => own(item, 'name'));
  return [...byName.values()].flatMap((same) => same.slice(0, 1));
}

/** The resources that the kubelet can change in a running pod (KEP-1287). */
const RESIZABLE = ['cpu', 'memory'];
const AMOUNTS = ['limits', 'requests'];

/**
 * sha256 in hex of what a template adds to a pod, without what a rollout changes in a running pod: images, cpu and
 * memory of containers. A pod can get another template in place only if both have the same shape.
 */
function shapeHash(content: JsonValue): string {
  const fixed: Record<string, JsonValue> = { ...ownObject(content, 'spec') };
  for (const list of ['containers', 'initContainers'])
    if (list in fixed) fixed[list] = ownObjects(fixed, list).map(withoutMutable);
  return hashOf({ metadata: ownObject(content, 'metadata'), spec: fixed });
}

function withoutMutable({ image: _, resources, ...rest }: JsonObject): JsonObject {
  if (!isObject(resources)) return rest;
  const fixed = Object.entries(resources)
    .map(([key, amounts]) => [key, AMOUNTS.includes(key) ? without(amounts, RESIZABLE) : amounts] as const)
    .filter(([, amounts]) => !isObject(amounts) || Object.keys(amounts).length > 0);
  return fixed.length === 0 ? rest : { ...rest, resources: Object.fromEntries(fixed) };
}

function without(value: JsonValue, keys: readonly string[]): JsonValue {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key)));
}

/** What a kind of template field is, and where it goes. */
type KindSpec =
  /** A list of the pod's spec, whose items have names of their own by a field. */
  | { readonly to: 'list'; readonly type: string; readonly key: string }
  /** A map of the pod: each field that the pod does not have. */
  | { readonly to: 'map'; readonly type: string }
  /** A list of each container of the application. */
  | { readonly to: 'apps'; readonly type: string; readonly key: string };

/**
 * The fields of a template, All that handles a template's fields reads this
 * table, or must have an entry for each of them to compile.
 */
export const KINDS = {
  containers: { to: 'list', type: 'Container', key: 'name' },
  initContainers: { to: 'list', type: 'Container', key: 'name' },
  env: { to: 'apps', type: 'EnvVar', key: 'name' },
  volumeMounts: { to: 'apps', type: 'VolumeMount', key: 'mountPath' },
  volumes: { to: 'list', type: 'Volume', key: 'name' },
  imagePullSecrets: { to: 'list', type: 'LocalObjectReference', key: 'name' },
  hostAliases: { to: 'list', type: 'HostAlias', key: 'ip' },
  securityContext: { to: 'map', type: 'PodSecurityContext' },
  dnsConfig: { to: 'map', type: 'PodDNSConfig' },
  labels: { to: 'map', type: 'string' },
  annotations: { to: 'map', type: 'string' },
} as const satisfies Readonly<Record<string, KindSpec>>;

export type Kind = keyof typeof KINDS;
type KindTo<T extends KindSpec['to']> = {
  [K in Kind]: (typeof KINDS)[K]['to'] extends T ? K : never;
}[Kind];
type MapKind = KindTo<'map'>;

/** The fields of a template, empty where it says nothing. */
export type TemplateFields = {
  readonly [K in Kind]: K extends MapKind ? JsonObject : readonly JsonObject[];
};

function kindsTo<T extends KindSpec['to']>(to: T): readonly KindTo<T>[] {
  return (Object.keys(KINDS) as Kind[]).filter((kind): kind is KindTo<T> => KINDS[kind].to === to);
}

/** Whether it is a field of a pod's metadata, and not of its spec. */
export function isOfMetadata(kind: Kind): kind is 'labels' | 'annotations' {
  return kind === 'labels' || kind === 'annotations';
}

export const LIST_KINDS = kindsTo('list');
export const MAP_KINDS = kindsTo('map');
export const APP_KINDS = kindsTo('apps');
/** Those without the containers, which may override one of the pod. */
export const ITEM_KINDS = LIST_KINDS.filter((kind) => KINDS[kind].type !== 'Container') as readonly Exclude<
  KindTo<'list'>,
  'containers' | 'initContainers'
>[];
