import { describe, expect, test } from '@jest/globals';
import { keysFor } from '../../../src/injection/keys.ts';
import { sidecarState } from '../../../src/injection/webhook/classify.ts';
import {
  DEMO_TEMPLATE,
  decideInput,
  demoPod,
  OPT_IN,
  podWith,
  templateSet,
} from '../../support/injection/demo.ts';
import { injectChecked, metadataOf } from '../../support/injection/inject-checked.ts';

const KEYS = keysFor();
const NOWHERE = { namespaceLabels: {} };
const state = () => ({ set: templateSet() });
const injected = () => injectChecked(decideInput(demoPod())).pod;

describe('the sidecar of an existing pod', () => {
  test('is absent if the pod has no status', () => {
    expect(sidecarState(demoPod(), NOWHERE, KEYS, state())).toBe('absent');
  });

  test('is unmarked if another has removed its annotations', () => {
    expect(sidecarState({ ...injected(), metadata: {} }, NOWHERE, KEYS, state())).toBe('unmarked');
  });

  test('is current if it comes from the current template', () => {
    expect(sidecarState(injected(), NOWHERE, KEYS, state())).toBe('current');
  });

  test('is stale once the template changes', () => {
    const changed = { set: templateSet({ config: DEMO_TEMPLATE.replace('512Mi', '256Mi') }) };
    expect(sidecarState(injected(), NOWHERE, KEYS, changed)).toBe('stale');
  });

  test('is stale if its container is missing', () => {
    const { annotations } = metadataOf(injected());
    expect(sidecarState(podWith({}, { annotations: annotations ?? null }), NOWHERE, KEYS, state())).toBe(
      'stale',
    );
  });

  test('is stale if its namespace selects another template', () => {
    const set = templateSet({ config: DEMO_TEMPLATE, 'config.more': 'containers: [{name: more, image: i}]' });
    const settings = { ...NOWHERE, namespaceTemplates: 'more' };
    expect(sidecarState(injected(), settings, KEYS, { set })).toBe('stale');
    const { pod } = injectChecked(decideInput(demoPod(), { ...settings, state: { set } }));
    expect(sidecarState(pod, settings, KEYS, { set })).toBe('current');
  });

  test('is stale if its template no longer exists', () => {
    const data = { config: DEMO_TEMPLATE, 'config.more': 'containers: [{name: more, image: i}]' };
    const annotations = { [OPT_IN]: 'true', [`${OPT_IN}-templates`]: 'config,more' };
    const both = { set: templateSet(data) };
    const { pod } = injectChecked(decideInput(podWith({}, { annotations }), { state: both }));
    expect(sidecarState(pod, NOWHERE, KEYS, both)).toBe('current');
    expect(sidecarState(pod, NOWHERE, KEYS, state())).toBe('stale');
  });
});
