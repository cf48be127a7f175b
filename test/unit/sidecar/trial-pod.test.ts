import { describe, expect, test } from '@jest/globals';
import { keysFor } from '../../../src/sidecar/keys.ts';
import { plainPod, trialPod } from '../../../src/sidecar/trial-pod.ts';
import { OPT_IN, templateSet } from '../../support/demo.ts';
import { NEVER, withMisfit } from '../../support/misfit.ts';

const keys = keysFor();
const CONTAINER = 'containers: [{name: a, image: "b:v1"}]';

describe('plainPod', () => {
  test('opts out, and may have a shape', () => {
    expect(plainPod(keys)).toMatchObject({ metadata: { labels: { [OPT_IN]: 'false' } } });
    expect(plainPod(keys, NEVER)).toMatchObject({ spec: { restartPolicy: 'Never' } });
  });
});

describe('trialPod', () => {
  test('has the named template, and opts out', () => {
    const labels = `metadata: {labels: {team: mesh}}\nspec: {${CONTAINER}}`;
    const trial = trialPod(templateSet({ config: CONTAINER, 'config.other': labels }), 'other', keys);
    expect(trial).toMatchObject({
      pod: {
        metadata: { labels: { team: 'mesh', [OPT_IN]: 'false' } },
        spec: { containers: [{ image: 'registry.invalid/proof' }, { name: 'a' }] },
      },
    });
  });

  test('says why a template fits no pod of a shape', () => {
    const proved = withMisfit(templateSet());
    expect(trialPod(proved, 'config', keys, NEVER)).toEqual({
      obstacle:
        'spec.restartPolicy: Never: the API server refuses such pods with the template config: containers[0].x: no',
    });
    expect(trialPod(proved, 'config', keys)).toHaveProperty('pod');
  });
});
