import type { KubeObject } from '../../kube/api/object.ts';
import { decodeObject, type Resource } from '../../kube/api/resource.ts';
import type { JsonObject } from '../../util/json.ts';
import { isObject } from '../../util/json.ts';

/** A policy or a binding of admissionregistration.k8s.io/v1, since Kubernetes 1.36. */
export interface LivePolicyObject extends KubeObject {
  readonly spec: JsonObject;
}

const ADMISSION = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  namespaced: false,
  decode,
} as const;

export const POLICIES: Resource<LivePolicyObject> = {
  ...ADMISSION,
  kind: 'MutatingAdmissionPolicy',
  plural: 'mutatingadmissionpolicies',
};

export const POLICY_BINDINGS: Resource<LivePolicyObject> = {
  ...ADMISSION,
  kind: 'MutatingAdmissionPolicyBinding',
  plural: 'mutatingadmissionpolicybindings',
};

function decode(value: unknown): LivePolicyObject {
  const object = decodeObject(value);
  const spec = 'spec' in object && isObject(object.spec) ? object.spec : {};
  return { ...object, spec };
}
