import { describe, expect, test } from '@jest/globals';
import { LiveTemplates } from '../../../src/injector/live-templates.ts';
import { formatFault } from '../../../src/json/diagnostic.ts';
import { DEMO_TEMPLATE } from '../../support/demo.ts';

function setUp() {
  const events: string[] = [];
  const live = new LiveTemplates({
    adopted: (set, generation) => events.push(`adopted ${generation}: ${[...set.templates.keys()]}`),
    rejected: (faults, staying) =>
      events.push(`rejected, staying ${[...(staying?.templates.keys() ?? [])]}: ${faults.map(formatFault)}`),
  });
  return { live, events };
}

const imageOf = (live: LiveTemplates) =>
  'set' in live.state ? live.state.set.templates.get('config')?.containers[0]?.image : live.state.fault;
const withImage = (image: string) => ({ data: { config: `containers: [{name: envoy, image: ${image}}]` } });

describe('live templates', () => {
  test('are not there before a ConfigMap was seen', () => {
    const { live } = setUp();
    expect(live.state).toEqual({ fault: 'ConfigMap: no ConfigMap has been seen yet' });
  });

  test('follow the ConfigMap', () => {
    const { live, events } = setUp();
    live.update(withImage('one'));
    live.update(withImage('two'));
    expect(imageOf(live)).toBe('two');
    expect(live.generation).toBe(2);
    expect(events).toEqual(['adopted 1: config', 'adopted 2: config']);
  });

  test('do not change with comments, nor with a resync', () => {
    const { live, events } = setUp();
    live.update({ data: { config: DEMO_TEMPLATE } });
    live.update({ data: { config: `# edited\n${DEMO_TEMPLATE}` } });
    expect(events).toHaveLength(1);
  });

  test('change with the options alone', () => {
    const { live, events } = setUp();
    live.update({ data: { config: DEMO_TEMPLATE } });
    live.update({ data: { config: DEMO_TEMPLATE, options: 'position: first' } });
    expect(events).toHaveLength(2);
  });

  test('stay the last good ones when the next are bad, and recover', () => {
    const { live, events } = setUp();
    live.update(withImage('good'));
    live.update(withImage('""'));
    expect(imageOf(live)).toBe('good');
    expect(live.faults.map(formatFault)).toEqual([
      'config: line 1, column 28: containers[0].image: required: write the image to run',
    ]);
    live.update(withImage('""'));
    live.update(withImage('good'));
    expect(live.faults).toEqual([]);
    expect(events).toEqual([
      'adopted 1: config',
      'rejected, staying config: config: line 1, column 28: containers[0].image: required: write the image to run',
      'adopted 1: config',
    ]);
  });

  test('stay when the ConfigMap is deleted', () => {
    const { live, events } = setUp();
    live.update(withImage('good'));
    live.update(undefined);
    expect(imageOf(live)).toBe('good');
    expect(events[1]).toBe('rejected, staying config: ConfigMap: the ConfigMap is not there');
  });

  test('say what is wrong while there never was anything good', () => {
    const { live } = setUp();
    live.update({});
    expect(live.state).toEqual({ fault: 'config: required, but the key is missing' });
    live.update(withImage('good'));
    expect(imageOf(live)).toBe('good');
  });
});
