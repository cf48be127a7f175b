import type { JsonObject } from '../../util/json.ts';

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
