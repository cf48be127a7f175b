import { expect, test } from '@jest/globals';
import { observe } from '../../../../src/addons/rollout/observe.ts';
import { workloadKey } from '../../../../src/addons/rollout/plan/pod.ts';
import { keysFor } from '../../../../src/injection/keys.ts';
import type { KubeObject } from '../../../../src/kube/api/object.ts';
import type { JsonObject } from '../../../../src/util/json.ts';
import { decideInput, OPT_IN, podWith } from '../../../support/injection/demo.ts';
import { injectChecked } from '../../../support/injection/inject-checked.ts';

/** The workload of a pod with this owner in the namespace `shop`. */
function workloadOf(kind: string, name: string, labels: JsonObject = {}): string | undefined {
  const owner = { apiVersion: 'apps/v1', kind, name, uid: 'u', controller: true };
  const input = podWith(
    { containers: [{ name: 'app', image: 'app' }] },
    { namespace: 'shop', labels, annotations: { [OPT_IN]: 'true' }, ownerReferences: [owner] },
  );
  const { pod } = injectChecked(decideInput(input, {}));
  const observed = observe(pod as unknown as KubeObject & JsonObject, keysFor());
  return observed && workloadKey(observed);
}

test.each([
  ['a Deployment', 'ReplicaSet', 'web-5d8', { 'pod-template-hash': '5d8' }, 'shop/ReplicaSet web'],
  ['a ReplicaSet of its own', 'ReplicaSet', 'web-5d8', {}, 'shop/u'],
  ['a StatefulSet', 'StatefulSet', 'web', {}, 'shop/u'],
])('the workload of a pod is %s', (_, kind, name, labels, workload) => {
  expect(workloadOf(kind, name, labels)).toBe(workload);
});
