import { describe, expect, test } from '@jest/globals';
import { versionObstacles, withVersion } from '../../../hack/release/version.ts';

describe('the version of a release', () => {
  test.each([
    ['0.0.2', '0.0.1'],
    ['0.10.0', '0.9.9'],
    ['2.0.0', '1.9.9'],
  ])('may be %s after %s', (version, current) => {
    expect(versionObstacles(version, current)).toEqual([]);
  });

  test.each([
    ['1.2.3', '1.2.3'],
    ['1.2.3', '1.10.0'],
    ['0.9.9', '1.0.0'],
  ])('may not be %s after %s', (version, current) => {
    expect(versionObstacles(version, current)).toEqual([
      expect.stringContaining(`not newer than ${current}`),
    ]);
  });

  test.each(['', 'v1.2.3', '1.2', '1.2.3-rc.1', '01.2.3', '../1.2.3', '1.2.3\n'])(
    'may not be %j',
    (version) => {
      expect(versionObstacles(version, '0.0.1')).toEqual([expect.stringContaining('MAJOR.MINOR.PATCH')]);
    },
  );
});

describe('a file with the next version', () => {
  test.each([
    ['image: envoy-initializer:7.7.7\n', 'image: envoy-initializer:8.0.0\n'],
    ['image: envoy-initializer-capture:7.7.7', 'image: envoy-initializer-capture:8.0.0'],
    ['out/envoy-initializer-7.7.7.tgz', 'out/envoy-initializer-8.0.0.tgz'],
    ["const VERSION = '7.7.7';", "const VERSION = '8.0.0';"],
    ['image.version="7.7.7" \\', 'image.version="8.0.0" \\'],
    [
      '{"name": "envoy-initializer",\n  "version": "7.7.7"}',
      '{"name": "envoy-initializer",\n  "version": "8.0.0"}',
    ],
    [
      'name: envoy-initializer\nversion: 7.7.7\nappVersion: 7.7.7\n',
      'name: envoy-initializer\nversion: 8.0.0\nappVersion: 8.0.0\n',
    ],
    [
      'envoy-initializer:7.7.7. And `envoy-initializer:7.7.7`',
      'envoy-initializer:8.0.0. And `envoy-initializer:8.0.0`',
    ],
  ])('%j becomes %j', (before, after) => {
    expect(withVersion(before, '7.7.7', '8.0.0')).toBe(after);
  });

  test.each([
    'cidr: 10.7.7.7/24',
    '{"name": "other", "version": "7.7.7"}',
    'envoy-initializer:7.7.71',
    'envoy-initializer:7.7.7.1',
    'envoy-initializer:7.7.7-next',
    'envoy-initializer:7x7x7',
  ])('%j stays', (text) => {
    expect(withVersion(text, '7.7.7', '8.0.0')).toBe(text);
  });
});
