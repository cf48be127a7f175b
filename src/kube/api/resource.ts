import type { KubeObject } from './object.ts';

/** One resource of the API as its REST path names it, and how its objects are decoded from the wire. */
export interface Resource<T extends KubeObject> {
  /** API group; empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** The plural, lower-case name in the path. */
  readonly plural: string;
  readonly namespaced: boolean;
  /** Read with their metadata alone: what a cache of many pods can be made small by. Writes are not affected. */
  readonly metadataOnly?: true;
  /** Returns the value as the typed object it is, or throws a TypeError that says what is wrong with it. */
  decode(value: unknown): T;
}

/** Which object, or with no name which collection. A namespaced resource without a namespace means all of them. */
export interface Target {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

/** `v1` or `group/version`, as objects carry it. */
export function apiVersionOf(resource: Resource<KubeObject>): string {
  return resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
}

/**
 * The REST path of a target (https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-uris).
 * A name from outside can never change which path is called.
 * @throws TypeError for a name or namespace that cannot be one segment of a path.
 */
export function resourcePath(
  resource: Resource<KubeObject>,
  { namespace, name }: Target,
  subresource?: string,
): string {
  const root = resource.group === '' ? ['api'] : ['apis', resource.group];
  const scope = resource.namespaced && namespace ? ['namespaces', segment(namespace)] : [];
  const object = name === undefined ? [] : [segment(name)];
  const tail = subresource === undefined ? [] : [subresource];
  return `/${[...root, resource.version, ...scope, resource.plural, ...object, ...tail].map(encodeURIComponent).join('/')}`;
}

/** apimachinery's IsPathSegmentName. Escaping is not enough: the API server routes by the path it has unescaped. */
function segment(name: string): string {
  if (name === '' || name === '.' || name === '..' || /[/%]/.test(name)) {
    throw new TypeError(
      `expected a name that can stand in a path, got ${JSON.stringify(name)}: without "/" and "%", not empty, "." or ".."`,
    );
  }
  return name;
}

/** Whether the value has what every object of the API has. The rest of it the API server has validated. */
export function isKubeObject(value: unknown): value is KubeObject {
  if (typeof value !== 'object' || value === null || !('metadata' in value)) return false;
  const { metadata } = value;
  return (
    typeof metadata === 'object' &&
    metadata !== null &&
    'name' in metadata &&
    typeof metadata.name === 'string'
  );
}

/** For resources of which nothing but metadata is read; throws a TypeError on anything else. */
export function decodeObject(value: unknown): KubeObject {
  if (!isKubeObject(value)) throw new TypeError('expected a Kubernetes object with a metadata.name');
  return value;
}
