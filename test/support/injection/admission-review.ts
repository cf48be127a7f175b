import type { AdmissionRequest } from '../../../src/kube/admission/review.ts';
import type { JsonObject } from '../../../src/util/json.ts';
import { demoPod } from './demo.ts';

/** An AdmissionReview as the API server sends it for a new pod; `request` takes the place of single fields. */
export function podReview(request: JsonObject = {}): JsonObject {
  return {
    kind: 'AdmissionReview',
    apiVersion: 'admission.k8s.io/v1',
    request: {
      uid: '0a1b',
      kind: { group: '', version: 'v1', kind: 'Pod' },
      resource: { group: '', version: 'v1', resource: 'pods' },
      requestKind: { group: '', version: 'v1', kind: 'Pod' },
      requestResource: { group: '', version: 'v1', resource: 'pods' },
      name: 'myapp-pod',
      namespace: 'default',
      operation: 'CREATE',
      userInfo: { username: 'kubernetes-admin', groups: ['system:masters'] },
      object: demoPod(),
      oldObject: null,
      dryRun: false,
      options: { kind: 'CreateOptions', apiVersion: 'meta.k8s.io/v1' },
      ...request,
    },
  };
}

/** The request of such a review, once it is parsed. */
export function podRequest(change: Partial<AdmissionRequest> = {}): AdmissionRequest {
  return {
    uid: '0a1b',
    kind: { group: '', version: 'v1', kind: 'Pod' },
    resource: { group: '', version: 'v1', resource: 'pods' },
    subResource: '',
    operation: 'CREATE',
    name: 'myapp-pod',
    namespace: 'default',
    object: demoPod(),
    oldObject: undefined,
    dryRun: false,
    ...change,
  };
}
