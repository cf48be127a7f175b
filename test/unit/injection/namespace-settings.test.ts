import { expect, test } from '@jest/globals';
import { keysFor } from '../../../src/injection/keys.ts';
import { namespaceSettings } from '../../../src/injection/namespace-settings.ts';

const KEYS = keysFor('example.com/envoy');

test('the settings of a namespace are its labels and the annotation that selects templates', () => {
  const annotations = { 'example.com/envoy-templates': 'gateway', note: 'x' };
  expect(namespaceSettings({ labels: { a: 'b' }, annotations }, KEYS)).toEqual({
    namespaceLabels: { a: 'b' },
    namespaceTemplates: 'gateway',
  });
});

test('a namespace without labels and annotations has no settings', () => {
  expect(namespaceSettings({}, KEYS)).toEqual({ namespaceLabels: {}, namespaceTemplates: undefined });
});
