/** What a request is about: the part of an AdmissionRequest that injection looks at. */
export interface AdmissionTarget {
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly resource: { readonly group: string; readonly version: string; readonly resource: string };
  /** `status`, `ephemeralcontainers`…; absent or empty for the object itself. */
  readonly subResource?: string;
  readonly operation: string;
  /** The namespace of the request. The object's own `metadata.namespace` is usually still empty. */
  readonly namespace: string;
}

/** The creation of a v1 Pod, as the webhook is asked about it; for callers that have only the pod. */
export function podCreation(namespace: string): AdmissionTarget {
  return {
    kind: { group: '', version: 'v1', kind: 'Pod' },
    resource: { group: '', version: 'v1', resource: 'pods' },
    operation: 'CREATE',
    namespace,
  };
}

/** Whether a v1 Pod is being created: not one of its subresources, and neither changed nor deleted. */
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
