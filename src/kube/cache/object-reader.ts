import { type KubeObject, keyOf, type ObjectKey } from '../api/object.ts';
import { decodeObject } from '../api/resource.ts';
import { toError } from '../util/to-error.ts';
import type { ReflectorOptions } from './reflector-options.ts';

/**
 * Decodes a value into its key and the object to keep. The object is undefined if it cannot be decoded, which is
 * reported and does not affect other objects. Throws a TypeError for a value that is not an object of the API.
 */
export type ReadObject<T> = (value: unknown) => [key: ObjectKey, object: T | undefined];

/** Decodes and transforms objects as in the options. */
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
