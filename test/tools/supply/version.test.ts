import { expect, test } from '@jest/globals';
import { versionObstacles, withVersion } from '../../../hack/release/version.ts';

test.each([
  ['0.10.0', '0.9.9', []],
  ['2.0.0', '1.9.9', []],
  ['1.2.3', '1.2.3', ['not newer than 1.2.3']],
  ['1.2.3', '1.10.0', ['not newer than 1.10.0']],
  ['v1.2.3', '0.0.1', ['MAJOR.MINOR.PATCH']],
  ['1.2.3-rc.1', '0.0.1', ['MAJOR.MINOR.PATCH']],
  ['../1.2.3', '0.0.1', ['MAJOR.MINOR.PATCH']],
  ['1.2.3\n', '0.0.1', ['MAJOR.MINOR.PATCH']],
])('the version of a release %j after %s is refused: %j', (version, current, messages) => {
  expect(versionObstacles(version, current)).toEqual(
    messages.map((message) => expect.stringContaining(message)),
  );
});

test.each([
  'image: envoy-initializer-capture:7.7.7',
  'out/envoy-initializer-7.7.7.tgz',
  "const VERSION = '7.7.7';",
  'image.version="7.7.7" \\',
  '{"name": "envoy-initializer",\n  "version": "7.7.7"}',
  'name: envoy-initializer\nversion: 7.7.7\nappVersion: 7.7.7\n',
  'envoy-initializer:7.7.7. And `envoy-initializer:7.7.7`',
])('the text %j gets the next version', (text) => {
  expect(withVersion(text, '7.7.7', '8.0.0')).toBe(text.replaceAll('7.7.7', '8.0.0'));
});

test.each([
  'cidr: 10.7.7.7/24',
  '{"name": "other", "version": "7.7.7"}',
  'envoy-initializer:7.7.71',
  'envoy-initializer:7.7.7.1',
  'envoy-initializer:7.7.7-next',
  'envoy-initializer:7x7x7',
])('the text %j keeps its version', (text) => {
  expect(withVersion(text, '7.7.7', '8.0.0')).toBe(text);
});
