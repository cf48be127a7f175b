/** The part of an AdmissionRequest that injection uses. */
export interface AdmissionTarget {
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly resource: { readonly group: string; readonly version: string; readonly resource: string };
  /** Such as `status` or `ephemeralcontainers`; absent or empty for the object itself. */
  readonly subResource?: string;
  readonly operation: string;
  /** The namespace of the request. The object's own `metadata.namespace` is usually still empty. */
  readonly namespace: string;
}

/** The request that creates a v1 Pod, for callers that have only the pod. */
export function podCreation(namespace: string): AdmissionTarget {
  return {
    kind: { group: '', version: 'v1', kind: 'Pod' },
    resource: { group: '', version: 'v1', resource: 'pods' },
    operation: 'CREATE',
    namespace,
  };
}

/** Whether the request creates a v1 Pod, and not a subresource. */
export function isPodCreation({ kind, resource, subResource, operation }: AdmissionTarget): boolean {
  return (
    operation === 'CREATE' &&
    kind.group === '' &&
    kind.version === 'v1' &&
    kind.kind === 'Pod' &&
    resource.group === '' &&
    resource.version === 'v1' &&
    resource.resource === 'pods' &&
    !subResource
  );
}
