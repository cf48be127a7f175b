import { describe, expect, test } from '@jest/globals';
import { decide } from '../../../src/injection/decide.ts';
import { inject } from '../../../src/injection/inject.ts';
import { LiveTemplates } from '../../../src/injection/webhook/live-templates.ts';
import type { JsonObject } from '../../../src/util/json.ts';
import {
  DEMO_TEMPLATE,
  decideInput,
  demoPod,
  OPT_IN,
  podWith,
  templateSet,
} from '../../support/injection/demo.ts';
import { injectChecked, namesOf, specOf } from '../../support/injection/inject-checked.ts';

/** What the predecessor of this program got wrong, or could not do. */
describe('unlike the old initializer', () => {
  const annotated = (value: string) => podWith({}, { annotations: { [OPT_IN]: value } });

  test('an annotation "false" does not inject', () => {
    expect(decide(decideInput(annotated('false')))).toMatchObject({ inject: false, reason: 'opted-out' });
  });

  test('an empty annotation does not inject', () => {
    expect(decide(decideInput(annotated('')))).toMatchObject({ inject: false, reason: 'invalid-value' });
  });

  test('a pod that has the sidecar stays unchanged', () => {
    const { pod } = injectChecked(decideInput(demoPod()));
    expect(inject(decideInput(pod))).toMatchObject({
      outcome: 'skipped',
      skip: { reason: 'already-injected' },
    });
  });

  test('a container or volume of the same name is not added twice', () => {
    const own: JsonObject = { name: 'envoy', image: 'mine' };
    expect(decide(decideInput(podWith({ containers: [{ name: 'a', image: 'b' }, own] })))).toMatchObject({
      reason: 'container-exists',
    });
    const clash = podWith({ volumes: [{ name: 'envoy-conf', secret: { secretName: 's' } }] });
    expect(inject(decideInput(clash))).toMatchObject({ outcome: 'skipped', skip: { reason: 'conflict' } });
  });

  test('a change of the ConfigMap takes effect without a restart', () => {
    const live = new LiveTemplates({ adopted: () => {}, rejected: () => {} }, 'default/template');
    live.update({ data: { config: DEMO_TEMPLATE } });
    live.update({
      data: { config: DEMO_TEMPLATE.replace('name: envoy\n    image', 'name: mesh\n    image') },
    });
    const { pod } = injectChecked(decideInput(demoPod(), { state: live.state }));
    expect(namesOf(specOf(pod).containers)).toEqual(['myapp-container', 'mesh']);
  });

  test('a missing ConfigMap does not end the process', () => {
    const live = new LiveTemplates({ adopted: () => {}, rejected: () => {} }, 'default/template');
    live.update(undefined);
    expect(decide(decideInput(demoPod(), { state: live.state }))).toMatchObject({
      reason: 'no-template',
      diagnostics: [{ message: expect.stringContaining('ConfigMap default/template does not exist') }],
    });
  });

  test('a misspelt template is refused as a whole', () => {
    expect(() => templateSet({ config: DEMO_TEMPLATE.replace('volumeMounts', 'volumeMount') })).toThrow(
      'did you mean volumeMounts?',
    );
  });

  test('arguments that are one string with a blank stay one string, as Envoy accepts them', () => {
    const { pod } = injectChecked(decideInput(demoPod()));
    expect((specOf(pod).containers as JsonObject[])[1]?.args).toEqual([
      '--concurrency 4',
      '--config-path /etc/envoy/envoy.json',
      '--mode serve',
    ]);
  });
});
