import { describe, expect, test } from '@jest/globals';
import { parseStatus, StatusBuilder } from '../../../src/injection/status.ts';
import type { JsonObject } from '../../../src/util/json.ts';

describe('StatusBuilder', () => {
  test.each([
    ['containers', true],
    ['initContainers', true],
    ['volumes', false],
  ] as const)('what is added to %s is a container: %s', (kind, expected) => {
    const status = new StatusBuilder();
    status.added(kind, 'a');
    expect(status.hasContainer('a')).toBe(expected);
  });

  test('records the original place of merged containers that moved', () => {
    const status = new StatusBuilder();
    for (const name of ['moved', 'stayed', 'gone', 'new']) status.overlaid(name, { name });
    const [moved, stayed] = [{ name: 'moved' }, { name: 'stayed' }];
    const before = { spec: { containers: [stayed, moved], initContainers: [{ name: 'gone' }] } };
    const after = { spec: { containers: [stayed, { name: 'new' }], initContainers: [moved] } };
    expect(status.build([], before, after).moved).toEqual({
      moved: { list: 'containers', index: 1 },
      gone: { list: 'initContainers', index: 0 },
    });
  });
});

describe('parseStatus', () => {
  const parsed = (status: JsonObject) => parseStatus(JSON.stringify({ version: 1, ...status }));

  test('reads what is missing as empty', () => {
    const nothing = { added: {}, overlaid: {}, moved: {}, requests: {} };
    expect(parsed({})).toEqual({ templates: [], ...nothing });
    expect(parsed({ templates: [{}] })).toEqual({ templates: [{ name: '', sha256: '' }], ...nothing });
  });

  test('drops names that are no text', () => {
    expect(parsed({ added: { volumes: ['a', 1, null], env: 'b' } })?.added).toEqual({
      volumes: ['a'],
      env: [],
    });
  });

  test.each<[string, JsonObject | string]>([
    ['another list', { list: 'volumes', index: 0 }],
    ['an index that is text', { list: 'containers', index: '0' }],
    ['an index below 0', { list: 'containers', index: -1 }],
    ['an index that is not whole', { list: 'containers', index: 1.5 }],
    ['no place', 'containers'],
  ])('drops an origin with %s', (_, forged) => {
    const origin = { list: 'initContainers', index: 0 };
    expect(parsed({ moved: { forged, origin } })?.moved).toEqual({ origin });
  });
});
