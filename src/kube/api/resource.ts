import { isRecord } from '../../util/json.ts';
import { type Fitting, misfit, type Shape } from '../../util/shape.ts';
import type { KubeObject } from './object.ts';

/** One resource of the API: the parts of its REST path, and how its objects are decoded. */
export interface Resource<T extends KubeObject> {
  /** API group; empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** The plural, lower-case name in the path. */
  readonly plural: string;
  readonly namespaced: boolean;
  /** Requests only the metadata of objects, which keeps a cache of many pods small; also of those that were written. */
  readonly metadataOnly?: true;
  /** Returns the value as a typed object, or throws a TypeError that says what is wrong with it. */
  decode(value: unknown): T;
}

/** An object or, without a name, a collection. Without a namespace, a namespaced resource means all namespaces. */
export interface Target {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

/** `v1` or `group/version`, as objects carry it. */
export function apiVersionOf(resource: Resource<KubeObject>): string {
  return resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
}

/** An object of a cache, which may lack its apiVersion and kind, as the object of an Event. */
export function regardingOf<O extends KubeObject | undefined>(
  resource: Resource<KubeObject>,
  object: O,
): (KubeObject & { readonly kind: string }) | Exclude<O, KubeObject> {
  if (object === undefined) return object as Exclude<O, KubeObject>;
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata: object.metadata };
}

/**
 * The REST path of a target (https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-uris).
 * A name from outside cannot change the path that is called.
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

/** apimachinery's IsPathSegmentName. Escaping is not enough: the API server routes by the unescaped path. */
function segment(name: string): string {
  if (name === '' || name === '.' || name === '..' || /[/%]/.test(name)) {
    throw new TypeError(
      `expected a name for a path, got ${JSON.stringify(name)}: must not contain "/" or "%", or be empty, "." or ".."`,
    );
  }
  return name;
}

/** Whether the value has the fields that every object of the API has. The API server has validated the rest. */
export function isKubeObject(value: unknown): value is KubeObject {
  return isRecord(value) && isRecord(value.metadata) && typeof value.metadata.name === 'string';
}

/** For resources whose metadata alone is read; throws a TypeError for a value that is not an object of the API. */
export function decodeObject(value: unknown): KubeObject {
  if (!isKubeObject(value)) throw new TypeError('expected a Kubernetes object with a metadata.name');
  return value;
}

/** As decodeObject, for objects whose fields must have this shape. */
export function decodeShape<const S extends Shape>(
  value: unknown,
  shape: S,
  kind: string,
): KubeObject & Fitting<S> {
  const object = decodeObject(value);
  const problem = misfit(object, shape, kind);
  const fits = (_: KubeObject): _ is KubeObject & Fitting<S> => problem === undefined;
  if (!fits(object)) throw new TypeError(problem);
  return object;
}

/** The resource of a kind with a regular plural. The API server has validated the fields of its objects. */
export function kindOf(apiVersion: string, kind: string, namespaced = true): Resource<KubeObject> {
  const [group = '', version = ''] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  const plural = `${kind.toLowerCase().replace(/y$/, 'ie')}s`;
  return { group, version, kind, plural, namespaced, decode: decodeObject };
}

/** The same, of which only the metadata is read. */
export function metadataOf(...kind: Parameters<typeof kindOf>): Resource<KubeObject> {
  return { ...kindOf(...kind), metadataOnly: true };
}
