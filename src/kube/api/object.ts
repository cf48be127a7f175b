import { defined } from '../../util/json.ts';

/**
 * The part of `metadata` that controllers read. Times are RFC 3339 strings, as on the wire: watch and list
 * agree, and a `Date` would lose what is finer than a millisecond.
 */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
  /** The part that names the writers of fields. */
  readonly managedFields?: readonly {
    readonly manager?: string;
    readonly subresource?: string;
    readonly fieldsV1?: object;
  }[];
}

/** An owner in the same namespace, or a cluster-scoped one; at most one of an object's owners has `controller`. */
export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** Any object of the API. Items of a list come without `apiVersion` and `kind`. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

/** The owner that replaces an object when it is deleted; undefined if there is none. */
export function controllerOf({ metadata }: Pick<KubeObject, 'metadata'>): OwnerReference | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller === true);
}

/**
 * The metadata that every cache needs: it distinguishes an object from others, and one state of it from the next.
 * Labels and annotations, which users may fill, and managed fields are left out, unless they are among the others.
 */
export function identityOf({ metadata }: KubeObject, ...others: readonly (keyof ObjectMeta)[]): ObjectMeta {
  const { name, namespace, uid, resourceVersion } = metadata;
  const kept: Partial<ObjectMeta> = Object.fromEntries(others.map((key) => [key, metadata[key]]));
  return defined({ name, namespace, uid, resourceVersion, ...kept });
}

type Versioned = Pick<ObjectMeta, 'resourceVersion'>;

/** Whether a state of an object is newer: versions of one resource are decimal numbers that grow (KEP-5504). */
export function isNewer(
  { resourceVersion: a = '' }: Versioned,
  { resourceVersion: b = '' }: Versioned,
): boolean {
  if (!DECIMAL.test(a) || !DECIMAL.test(b)) return false;
  return a.length === b.length ? a > b : a.length > b.length;
}

const DECIMAL = /^[1-9]\d*$/;

/** `namespace/name`, or `name` for a cluster-scoped object: client-go's MetaNamespaceKeyFunc. */
export type ObjectKey = string;

/** The key under which caches and workqueues hold the object. */
export function keyOf({ metadata: { namespace, name } }: KubeObject): ObjectKey {
  return namespace ? `${namespace}/${name}` : name;
}

/** Where the object is: what the client's methods take. */
export function refOf({ metadata: { namespace, name } }: KubeObject) {
  return { namespace, name };
}

/**
 * The inverse of {@link keyOf}.
 * @throws Error when the key has an empty part or more than one slash.
 */
export function splitKey(key: ObjectKey): { readonly namespace?: string; readonly name: string } {
  const [first, second, ...rest] = key.split('/');
  if (!first || second === '' || rest.length > 0) {
    throw new Error(`bad object key ${JSON.stringify(key)}: expected "namespace/name" or "name"`);
  }
  return second === undefined ? { name: first } : { namespace: first, name: second };
}

/**
 * The time in the format of meta/v1 MicroTime: RFC 3339 with six digits of fraction. The server refuses the three
 * digits of `Date.toISOString()`.
 * @throws RangeError on an invalid date.
 */
export function microTime(date: Date): string {
  return date.toISOString().replace('Z', '000Z');
}
