import { describe, expect, test } from '@jest/globals';
import { parseYaml } from '../../../src/util/yaml.ts';

describe('parseYaml', () => {
  test('says that a bracket is missing, at the line after it', () => {
    expect(parseYaml('args: [a,\n  b\ncommand: [c]\n')).toMatchObject({
      error: 'invalid YAML: a ] or } is missing before this line, or the line needs more indentation',
      location: { line: 3 },
    });
  });
});
