import type { Operation } from 'fast-json-patch';
import type { KubeObject } from '../../kube/api/object.ts';

export function hasFinalizer({ metadata }: KubeObject, finalizer: string): boolean {
  return metadata.finalizers?.includes(finalizer) ?? false;
}

/**
 * The patch that removes one finalizer and keeps the others; empty if the object does not have it. It fails (422) if
 * the object is another one of the same name, or its finalizers changed in between.
 */
export function withoutFinalizer({ metadata }: KubeObject, finalizer: string): readonly Operation[] {
  const index = metadata.finalizers?.indexOf(finalizer) ?? -1;
  if (index < 0) return [];
  const path = `/metadata/finalizers/${index}`;
  return [
    { op: 'test', path: '/metadata/uid', value: metadata.uid },
    { op: 'test', path, value: finalizer },
    { op: 'remove', path },
  ];
}
