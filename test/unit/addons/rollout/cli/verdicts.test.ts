import { expect, test } from '@jest/globals';
import { Verdicts } from '../../../../../src/addons/rollout/cli/verdicts.ts';
import { step } from '../../../../../src/addons/rollout/core/step.ts';
import { claimed } from '../../../../../src/addons/rollout/memory.ts';
import { observe } from '../../../../../src/addons/rollout/observe.ts';
import type { KubeObject } from '../../../../../src/kube/api/object.ts';
import { own, ownObjects } from '../../../../../src/util/json.ts';
import { decideInput, demoPod } from '../../../../support/injection/demo.ts';
import { injectChecked } from '../../../../support/injection/inject-checked.ts';
import { setOf, strategyOf } from '../../../../support/rollout/rollout-world.ts';

test('a pod whose image a registry webhook has changed is left, as the operator leaves it, and the rollout ends', async () => {
  const [first, target] = [setOf('envoy:1'), setOf('envoy:2')];
  const input = decideInput(demoPod(), { state: { set: first } });
  const { pod } = injectChecked(input);
  const containers = ownObjects(own(pod, 'spec'), 'containers').map((each) => ({
    ...each,
    image: `mirror.local/${own(each, 'image')}`,
  }));
  const metadata = { ...(own(pod, 'metadata') as object), uid: 'u', name: 'web', namespace: 'shop' };
  const whole = {
    ...pod,
    metadata,
    spec: { ...(own(pod, 'spec') as object), containers },
  } as unknown as KubeObject & typeof pod;
  const observed = observe(whole, input.options.keys);
  if (!observed) throw new Error('the pod has no sidecar');
  const verdicts = new Verdicts({
    client: { get: async () => whole as never },
    decide: input.options,
    kubelets: new Map(),
    canResize: true,
  });
  const seen = {
    ...observed,
    ...claimed(observed, 0),
    namespace: { namespaceLabels: {} },
    isConfigStale: false,
    owner: { uid: 'web', kind: 'ReplicaSet' },
  };
  await verdicts.judge([seen], target, [target, first]);
  const verdict = verdicts.of('u', target);
  expect(verdict).toMatchObject({ how: 'replace', why: expect.stringContaining('mirror.local/envoy:1') });
  const canary = { namespaces: undefined, percent: 0 };
  const revision = { set: target, state: 'promoted', canary, since: 0, heldSince: undefined } as const;
  const revisions = { target: revision, promoted: revision, paused: false };
  const pods = [1, 2].map((uid) => ({ ...seen, uid: `${uid}`, verdict, readySince: 0, ready: true }));
  const { phase, pods: states } = step(pods, revisions, strategyOf('mode: in-place'), 60_000);
  expect([phase, ...states.map(({ is, why }) => `${is} ${why}`)]).toEqual([
    'done',
    'left not-in-place',
    'left not-in-place',
  ]);
});
