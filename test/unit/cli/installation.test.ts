import { expect, test } from '@jest/globals';
import { followInstallation, readInstallation } from '../../../src/cli/installation.ts';

const deployment = (container: object, status: object = {}) =>
  JSON.parse(
    JSON.stringify({
      spec: {
        template: { spec: { containers: [{ name: 'proxy' }, { name: 'envoy-initializer', ...container }] } },
      },
      status,
    }),
  );

test.each([
  [{ args: ['serve'] }, {}],
  [{}, {}],
  [{ args: ['serve', '--require-annotation=false'] }, { requireAnnotation: false }],
  [{ args: ['serve', '--require-annotation', 'false', '--port=1'] }, { requireAnnotation: false }],
  [{ args: ['serve', '--annotation=a.example/b'] }, { annotation: 'a.example/b' }],
  [{ env: [{ name: 'INITIALIZER_ANNOTATION', value: 'a/b' }] }, { annotation: 'a/b' }],
  [
    { args: ['--annotation=a/c'], env: [{ name: 'INITIALIZER_ANNOTATION', value: 'a/b' }] },
    { annotation: 'a/c' },
  ],
  [
    { args: ['--initializer-name=a.example', '--initializer-name=b.example'] },
    { initializerName: 'b.example' },
  ],
])('the installation with %j has the flags %j', (container, flags) => {
  expect(readInstallation(deployment(container)).flags).toEqual(flags);
});

const defaults = { annotation: 'initializer.kubernetes.io/envoy', requireAnnotation: true };
const installation = { flags: { annotation: 'a/b', requireAnnotation: false }, readyReplicas: 1 };

test('a command takes the flags of the installation in place of defaults', () => {
  expect(followInstallation(defaults, installation)).toEqual({
    annotation: 'a/b',
    requireAnnotation: false,
  });
});

test('a command keeps the flags that the user wrote', () => {
  const options = { ...defaults, annotation: 'c/d' };
  expect(followInstallation(options, installation)).toEqual({
    annotation: 'c/d',
    requireAnnotation: false,
  });
});
