import { describe, expect, test } from '@jest/globals';
import type { JsonObject } from '../../../src/json/json.ts';
import { keysFor } from '../../../src/sidecar/keys.ts';
import { uninject } from '../../../src/sidecar/uninject.ts';
import {
  DEMO_TEMPLATE,
  decideInput,
  demoPod,
  OPT_IN,
  podWith,
  STATUS,
  templateSet,
} from '../../support/demo.ts';
import { injectChecked, namesOf, specOf } from '../../support/inject-checked.ts';

const KEYS = keysFor();
const app: JsonObject = { name: 'app', image: 'busybox' };

describe('uninject', () => {
  test('returns the pod of the demo as it was written', () => {
    expect(uninject(injectChecked(decideInput(demoPod())).pod, KEYS)).toEqual(demoPod());
  });

  test('moves a container back to its original list and place', () => {
    const override = { name: 'envoy', image: 'auto', args: ['--mine'] };
    const pod = podWith({ containers: [app, override, { ...app, name: 'last' }], restartPolicy: 'Never' });
    const { pod: injected, status } = injectChecked(decideInput(pod));
    expect(namesOf(specOf(injected).initContainers)).toEqual(['envoy']);
    expect(status.moved).toEqual({ envoy: { list: 'containers', index: 1 } });
    expect(uninject(injected, KEYS)).toEqual(pod);
  });

  test('keeps later changes', () => {
    const { pod } = injectChecked(decideInput(demoPod()));
    const spec = specOf(pod);
    const changed = {
      ...pod,
      spec: {
        ...spec,
        containers: [...(spec.containers as JsonObject[]), { name: 'debug', image: 'busybox' }],
        volumes: [...(spec.volumes as JsonObject[]), { name: 'mine', emptyDir: {} }],
      },
    };
    const back = uninject(changed, KEYS) ?? {};
    expect(namesOf(specOf(back).containers)).toEqual(['myapp-container', 'debug']);
    expect(specOf(back).volumes).toEqual([{ name: 'mine', emptyDir: {} }]);
  });

  test.each<[string, string | undefined]>([
    ['without a status', undefined],
    ['with a status that is not JSON', '{'],
    ['with a status of another version', '{"version":2}'],
  ])('does not change a pod %s', (_, status) => {
    const pod = podWith({}, { annotations: status === undefined ? {} : { [STATUS]: status } });
    expect(uninject(pod, KEYS)).toBeUndefined();
  });

  test.each<[string, JsonObject]>([
    ['that takes all containers', { added: { containers: ['app'] } }],
    [
      'that moves all containers',
      { overlaid: { app: { ...app, image: 'auto' } }, moved: { app: { list: 'initContainers', index: 0 } } },
    ],
  ])('does not change a pod with a status %s', (_, status) => {
    const annotations = { [STATUS]: JSON.stringify({ version: 1, templates: [], ...status }) };
    expect(uninject(podWith({ containers: [app] }, { annotations }), KEYS)).toBeUndefined();
  });

  test('does not replace a container by one that overrides nothing', () => {
    const overlaid = { app: { name: 'app', image: 'forged' }, other: 'auto' };
    const annotations = {
      [STATUS]: JSON.stringify({ version: 1, added: { containers: ['envoy'] }, overlaid }),
    };
    const containers = [app, { name: 'envoy', image: 'i' }, { name: 'other', image: 'o' }];
    const back = uninject(podWith({ containers }, { annotations }), KEYS) ?? {};
    expect(specOf(back).containers).toEqual([app, { name: 'other', image: 'o' }]);
  });

  test("restores a container that another template's variables were added to", () => {
    const set = templateSet({
      config: `${DEMO_TEMPLATE}env: [{name: B, value: b}]`,
      'config.second': 'containers: [{name: helper, image: helper}]',
    });
    const annotations = { [OPT_IN]: 'true', 'initializer.kubernetes.io/envoy-templates': 'config,second' };
    const pod = podWith({ containers: [app, { name: 'helper', image: 'auto' }] }, { annotations });
    const { pod: injected } = injectChecked(decideInput(pod, { state: { set } }));
    expect(uninject(injected, KEYS)).toEqual(pod);
  });
});
