import type { JsonObject } from '../../../src/util/json.ts';

/** A policy without a reason that denies other images to the pods for which a CEL expression is true, with its binding. */
export function frozenImages(name: string, expression: string): readonly JsonObject[] {
  const of = (kind: string, spec: JsonObject): JsonObject => ({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind,
    metadata: { name },
    spec,
  });
  const rule = { apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], operations: ['UPDATE'] };
  const same = 'object.spec.containers.all(c, oldObject.spec.containers.exists(o, o.image == c.image))';
  return [
    of('ValidatingAdmissionPolicy', {
      matchConstraints: { resourceRules: [rule] },
      matchConditions: [{ name: 'its-pods', expression }],
      validations: [{ expression: same, message: 'images are frozen' }],
    }),
    of('ValidatingAdmissionPolicyBinding', { policyName: name, validationActions: ['Deny'] }),
  ];
}
