import { describe, expect, test } from '@jest/globals';
import { obstacles, type ReleaseSettings, type Surroundings } from '../../../hack/release/obstacles.ts';

const settings: ReleaseSettings = {
  image: 'registry.example.com/envoy-initializer:0.0.1',
  base: `docker.io/library/node:26-slim@sha256:${'a'.repeat(64)}`,
  key: 'cosign.key',
  builder: 'podman',
  pushFlags: [],
  force: false,
  transparencyLog: false,
};
const found: Surroundings = { source: { changed: [] }, hasKeyFile: true, hasPassword: true };

describe('a release', () => {
  test('has no obstacle if image, base, key and tree are valid', () => {
    expect(obstacles(settings, found)).toEqual([]);
  });

  test.each(['localhost/app:1', 'registry:5000/app:1', 'docker.io/library/app'])(
    'accepts image %s',
    (image) => {
      expect(obstacles({ ...settings, image }, found)).toEqual([]);
    },
  );

  test.each([
    [
      'an image without a registry',
      { image: 'envoy-initializer:0.0.1' },
      'IMAGE=envoy-initializer:0.0.1 has no registry',
    ],
    ['an image with a user and no registry', { image: 'team/app:1' }, 'IMAGE=team/app:1 has no registry'],
    [
      'an image by digest',
      { image: 'localhost/app@sha256:abc' },
      'IMAGE=localhost/app@sha256:abc has a digest',
    ],
    ['a base by tag', { base: 'node:26-slim' }, 'BASE=node:26-slim has no digest'],
    ['a base by a short digest', { base: 'node@sha256:abc' }, 'BASE=node@sha256:abc has no digest'],
    ['no builder', { builder: '' }, 'docker, podman and buildah are not on the PATH'],
    ['no key', { key: '' }, 'KEY is not set'],
  ])('reports %s', (_, changes, message) => {
    const refused = obstacles({ ...settings, ...changes }, found);
    expect(refused).toEqual([expect.stringContaining(message)]);
  });

  test.each([
    ['a missing key file', { hasKeyFile: false }, 'KEY=cosign.key: the file does not exist'],
    ['a key without its password', { hasPassword: false }, 'COSIGN_PASSWORD is not set'],
    [
      'uncommitted changes',
      { source: { changed: ['a', 'b', 'c', 'd', 'e'] } },
      'the git tree has uncommitted changes (a, b, c and 2 more)',
    ],
  ])('reports %s', (_, changes, message) => {
    const refused = obstacles(settings, { ...found, ...changes });
    expect(refused).toEqual([expect.stringContaining(message)]);
  });

  test('reports all obstacles at once', () => {
    const none = { ...settings, image: 'app', base: 'node', key: '', builder: '' };
    expect(obstacles(none, { ...found, source: { changed: ['a'] } })).toHaveLength(5);
  });

  test('ignores uncommitted changes with FORCE=1', () => {
    expect(obstacles({ ...settings, force: true }, { ...found, source: { changed: ['a'] } })).toEqual([]);
  });

  test('needs no file and no password for a key of a key management service', () => {
    const key = 'awskms:///alias/release';
    expect(obstacles({ ...settings, key }, { ...found, hasKeyFile: false, hasPassword: false })).toEqual([]);
  });
});
