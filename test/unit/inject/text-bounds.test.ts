import { describe, expect, test } from '@jest/globals';
import { configurationFaults } from '../../../src/envoy/configuration-faults.ts';
import { weightFaults } from '../../../src/envoy/weights.ts';
import { parseTemplateSet } from '../../../src/inject/template-set.ts';
import { textExcess } from '../../../src/inject/text-bounds.ts';
import { DEMO_TEMPLATE } from '../../support/demo.ts';

const EXCESS = 'the ConfigMap has more than 20000 lines, commas and brackets: write less';

describe('the texts of a ConfigMap', () => {
  test.each(['\n', ',', '[', '{'])('may have 20,000 parts, and no more: %j', (part) => {
    expect(textExcess({ config: part.repeat(19_990) })).toBeUndefined();
    expect(textExcess({ config: part.repeat(19_991) })).toBe(EXCESS);
  });

  test('have their parts counted together, and each text as ten', () => {
    const texts = (n: number) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`${i}`, ',']));
    expect(textExcess(texts(1_818))).toBeUndefined();
    expect(textExcess(texts(1_819))).toBe(EXCESS);
  });

  test('may have any number of other characters', () => {
    expect(textExcess({ config: 'x]}:"- '.repeat(100_000) })).toBeUndefined();
  });

  test('are one fault where they are too much, whatever they are for', () => {
    const much = `${DEMO_TEMPLATE}${'#\n'.repeat(20_000)}`;
    expect(parseTemplateSet({ config: much })).toEqual({
      faults: [{ source: 'config', path: '', message: EXCESS }],
    });
    expect(configurationFaults({ 'envoy.yaml': much })).toEqual([
      { source: 'envoy.yaml', path: '', message: EXCESS },
    ]);
    expect(weightFaults({ 'canary.app': '\n'.repeat(20_000) })).toEqual([
      { source: 'canary.app', path: '', message: EXCESS },
    ]);
  });
});
