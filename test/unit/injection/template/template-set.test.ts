import { describe, expect, test } from '@jest/globals';
import { parseTemplateConfigMap } from '../../../../src/injection/template/template-set.ts';
import { formatInText } from '../../../../src/util/diagnostic.ts';
import { DEMO_TEMPLATE, templateSet } from '../../../support/injection/demo.ts';

function faults(data: Readonly<Record<string, string>>): readonly string[] {
  const parsed = parseTemplateConfigMap(data);
  return 'faults' in parsed ? parsed.faults.map(formatInText) : [];
}

describe('the data of a ConfigMap', () => {
  test('has templates by name, and options with defaults', () => {
    const set = templateSet({
      config: DEMO_TEMPLATE,
      'config.logs': 'containers: [{name: logs, image: l}]',
      options: 'position: first\nonConflict:',
      'README.md': 'none: [of our business',
    });
    expect([...set.templates.keys()]).toEqual(['config', 'logs']);
    expect(set.templates.get('logs')?.name).toBe('logs');
    expect(set.options).toEqual({ onConflict: 'skip', nativeSidecar: 'jobs', position: 'first' });
  });

  test('may have empty options', () => {
    expect(templateSet({ config: DEMO_TEMPLATE, options: ' \n' }).options.onConflict).toBe('skip');
  });

  test.each<[string, Record<string, string>, string[]]>([
    ['no default template', { 'config.a': DEMO_TEMPLATE }, ['config: required, but the key is missing']],
    [
      'an invalid name',
      { config: DEMO_TEMPLATE, 'config.A B': DEMO_TEMPLATE },
      ['config.A B: the name after "config." must be at most 63 lower-case letters, digits and hyphens'],
    ],
    [
      'a second default template',
      { config: DEMO_TEMPLATE, 'config.config': DEMO_TEMPLATE },
      ['config.config: config is the name of the default template: use another name'],
    ],
    [
      'faults in several keys',
      {
        config: 'containers: [',
        'config.a': 'container: []',
        options: 'onConflict: maybe\nposition: last\nnative: x',
      },
      [
        'config:1:14: invalid YAML: unexpected end of the stream within a flow collection',
        'config.a:1:1: container: unknown field "container": did you mean containers?',
        'options:1:1: onConflict: must be one of skip, deny',
        'options:3:1: native: unknown field "native": expected one of onConflict, nativeSidecar, position',
      ],
    ],
    [
      'options that are not YAML',
      { config: DEMO_TEMPLATE, options: '"' },
      ['options:1:2: invalid YAML: unexpected end of the stream within a double quoted scalar'],
    ],
  ])('with %s is refused', (_, data, want) => {
    expect(faults(data)).toEqual(want);
  });
});
