import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { load } from 'js-yaml';
import { configurationMismatches } from '../../../src/operator/configuration-mismatch.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';

const applied = load(readFileSync(join(projectDirectory(), 'deploy/base/webhook.yaml'), 'utf8'));
const flags = {
  annotation: 'initializer.kubernetes.io/envoy',
  initializerName: 'envoy.initializer.kubernetes.io',
  requireAnnotation: true,
};

test('the flags and the applied webhooks agree as shipped', () => {
  expect(configurationMismatches(applied, flags)).toEqual([]);
});

test.each([
  ['another annotation', { annotation: 'example.com/envoy' }, /do not name the key example.com\/envoy/],
  ['another name', { initializerName: 'other.example.com' }, /no webhook is named other.example.com/],
  ['all pods', { requireAnnotation: false }, /only pods in namespaces with the opt-in label reach/],
])('the flags and the applied webhooks differ by %s', (_, change, message) => {
  const found = configurationMismatches(applied, { ...flags, ...change });
  expect(found).toContainEqual(expect.stringMatching(message));
});

test('the flags and the applied webhooks differ if all namespaces are sent but opting in is required', () => {
  const webhooks = [{ name: flags.initializerName }, { name: `namespace.${flags.initializerName}` }];
  expect(configurationMismatches({ webhooks }, flags)).toEqual([
    expect.stringMatching(/^all pods reach the webhook/),
  ]);
  expect(configurationMismatches({ webhooks }, { ...flags, requireAnnotation: false })).toEqual([]);
});

test.each([undefined, null, 1, {}, { webhooks: {} }])(
  'the value %j is no webhook configuration: no webhook is named',
  (value) => {
    expect(configurationMismatches(value, flags)).toEqual([expect.stringMatching(/no webhook is named/)]);
  },
);
