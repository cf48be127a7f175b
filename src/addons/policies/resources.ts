import type { KubeObject } from '../../kube/api/object.ts';
import { decodeObject, kindOf, type Resource } from '../../kube/api/resource.ts';
import { type JsonObject, ownObject } from '../../util/json.ts';

/** A policy or a binding of admissionregistration.k8s.io/v1, since Kubernetes 1.36. */
export interface LivePolicyObject extends KubeObject {
  readonly spec: JsonObject;
}

export const POLICIES = admission('MutatingAdmissionPolicy');
export const POLICY_BINDINGS = admission('MutatingAdmissionPolicyBinding');

function admission(kind: string): Resource<LivePolicyObject> {
  return {
    ...kindOf('admissionregistration.k8s.io/v1', kind, false),
    decode(value) {
      const object = decodeObject(value);
      return { ...object, spec: ownObject(object, 'spec') };
    },
  };
}
