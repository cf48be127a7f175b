import { type JsonObject, valueAt } from '../../util/json.ts';
import type { Pod } from '../podspec/pod.ts';

/** A setting of a pod that decides what the API server accepts in its containers and volumes. */
export interface PodShape {
  /** As users write it: `spec.restartPolicy: Never`. */
  readonly name: string;
  readonly path: readonly [string] | readonly [string, string];
  readonly value: string | boolean;
}

const shape = (path: PodShape['path'], value: PodShape['value']): PodShape => ({
  name: `spec.${path.join('.')}: ${value}`,
  path,
  value,
});

/** The shapes that a template is proved with. */
export const POD_SHAPES: readonly PodShape[] = [
  shape(['restartPolicy'], 'Never'),
  shape(['restartPolicy'], 'OnFailure'),
  shape(['os', 'name'], 'linux'),
  shape(['hostIPC'], true),
  shape(['hostUsers'], false),
];

/** Why the API server refuses pods of a shape with a template that is right in others. */
export interface IncompatibleShape {
  readonly shape: PodShape;
  /** The API server's words. */
  readonly message: string;
}

export function hasShape(pod: Pod, { path, value }: PodShape): boolean {
  return valueAt(pod, ['spec', ...path]) === value;
}

/** The fields of the spec that give a pod the shape. */
export function shapeFields({ path: [field, key], value }: PodShape): JsonObject {
  return { [field]: key === undefined ? value : { [key]: value } };
}

/** Whether the pod has the shape, in CEL. */
export function celHasShape({ path, value }: PodShape): string {
  return `object.spec.?${path.join('.?')} == optional.of(${JSON.stringify(value)})`;
}
