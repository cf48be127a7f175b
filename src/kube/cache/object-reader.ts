import { type KubeObject, keyOf, type ObjectKey } from '../api/object.ts';
import { decodeObject } from '../api/resource.ts';
import { toError } from '../util/to-error.ts';
import type { ReflectorOptions } from './reflector-options.ts';

/**
 * An object as it came, to its key and what is kept of it: undefined where that could not be made of it, which is
 * reported and stops no other object. Throws a TypeError for what is no object at all.
 */
export type ReadObject<T> = (value: unknown) => [key: ObjectKey, object: T | undefined];

/** Narrows and transforms, as the options say. */
export function objectReader<T extends KubeObject>({
  resource,
  transform = (object) => object,
  onError,
}: Pick<ReflectorOptions<T>, 'resource' | 'transform' | 'onError'>): ReadObject<T> {
  return (value) => {
    const key = keyOf(decodeObject(value));
    try {
      const object = transform(resource.decode(value));
      return [keyOf(object), object];
    } catch (cause) {
      const message = `cannot read ${resource.kind} ${key}: ${toError(cause).message}`;
      onError(new Error(message, { cause }), 'read');
      return [key, undefined];
    }
  };
}
