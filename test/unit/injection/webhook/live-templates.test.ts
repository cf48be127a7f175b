import { describe, expect, test } from '@jest/globals';
import { LiveTemplates } from '../../../../src/injection/webhook/live-templates.ts';
import { formatInText } from '../../../../src/util/diagnostic.ts';
import { DEMO_TEMPLATE, templateSet, withMisfit } from '../../../support/injection/demo.ts';

function setUp() {
  const events: string[] = [];
  const live = new LiveTemplates(
    {
      adopted: (set, generation) => events.push(`adopted ${generation}: ${[...set.templates.keys()]}`),
      rejected: (faults, staying) =>
        events.push(
          `rejected, staying ${[...(staying?.templates.keys() ?? [])]}: ${faults.map(formatInText)}`,
        ),
    },
    'operator/template',
  );
  return { live, events };
}

const imageOf = (live: LiveTemplates) =>
  'set' in live.state ? live.state.set.templates.get('config')?.containers[0]?.image : live.state.fault;
const withImage = (image: string) => ({ data: { config: `containers: [{name: envoy, image: ${image}}]` } });

describe('LiveTemplates', () => {
  test('have a fault before the ConfigMap is read', () => {
    const { live } = setUp();
    expect(live.state).toEqual({ fault: 'ConfigMap operator/template is not read yet' });
  });

  test('follow the ConfigMap', () => {
    const { live, events } = setUp();
    live.update(withImage('one'));
    live.update(withImage('two'));
    expect(imageOf(live)).toBe('two');
    expect(live.debug().generation).toBe(2);
    expect(events).toEqual(['adopted 1: config', 'adopted 2: config']);
  });

  test('do not change on a new comment or a resync', () => {
    const { live, events } = setUp();
    live.update({ data: { config: DEMO_TEMPLATE } });
    live.update({ data: { config: `# edited\n${DEMO_TEMPLATE}` } });
    expect(events).toHaveLength(1);
  });

  test('stay the last valid ones while the ConfigMap is invalid, and recover', () => {
    const { live, events } = setUp();
    live.update(withImage('good'));
    live.update(withImage('""'));
    expect(imageOf(live)).toBe('good');
    expect(live.debug().faults).toEqual([
      'config:1:28: containers[0].image: required: write the image to run',
    ]);
    live.update(withImage('""'));
    live.update(withImage('good'));
    expect(live.debug().faults).toEqual([]);
    expect(events).toEqual([
      'adopted 1: config',
      'rejected, staying config: config:1:28: containers[0].image: required: write the image to run',
      'adopted 1: config',
    ]);
  });

  test('stay when the ConfigMap is deleted', () => {
    const { live, events } = setUp();
    live.update(withImage('good'));
    live.update(undefined);
    expect(imageOf(live)).toBe('good');
    expect(events[1]).toBe(
      'rejected, staying config: ConfigMap operator/template does not exist: create it with the key config',
    );
  });

  test('change when pods of another shape do not fit', () => {
    const { live, events } = setUp();
    const set = templateSet();
    const proved = withMisfit(set);
    for (const each of [set, set, proved, proved])
      live.decide({ set: each, faults: [], inconclusive: [] }, {});
    expect(events).toEqual(['adopted 1: config', 'adopted 2: config']);
    expect(live.state).toEqual({ set: proved });
  });
});
