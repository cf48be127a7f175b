import { describe, expect, test } from '@jest/globals';
import { configurationFaults, weightFaults } from '../../../src/injection/envoy/configuration-faults.ts';
import { parseTemplateConfigMap } from '../../../src/injection/template/template-set.ts';
import { textError } from '../../../src/util/diagnostic.ts';
import { textExcess } from '../../../src/util/text-bounds.ts';
import { DEMO_TEMPLATE } from '../../support/injection/demo.ts';

const EXCESS = 'the ConfigMap has more than 20000 lines, commas and brackets: shorten it';

describe('the texts of a ConfigMap', () => {
  test.each(['\n', '\r', ',', '[', '{'])('may have at most 20,000 parts: %j', (part) => {
    expect(textExcess({ config: part.repeat(19_980) })).toBeUndefined();
    expect(textExcess({ config: part.repeat(19_981) })).toBe(EXCESS);
  });

  test('share one limit, and each text counts as twenty parts', () => {
    const texts = (n: number) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`${i}`, ',']));
    expect(textExcess(texts(952))).toBeUndefined();
    expect(textExcess(texts(953))).toBe(EXCESS);
  });

  test('may have any number of other characters', () => {
    expect(textExcess({ config: 'x]}:"- '.repeat(100_000) })).toBeUndefined();
  });

  test('give one fault if they are too large, for each kind of ConfigMap', () => {
    const much = `${DEMO_TEMPLATE}${'#\n'.repeat(20_000)}`;
    expect(parseTemplateConfigMap({ config: much })).toEqual({
      faults: [textError('config', EXCESS)],
    });
    expect(configurationFaults({ 'envoy.yaml': much })).toEqual([textError('envoy.yaml', EXCESS)]);
    expect(weightFaults({ 'canary.app': '\n'.repeat(20_000) })).toEqual([textError('canary.app', EXCESS)]);
  });
});
