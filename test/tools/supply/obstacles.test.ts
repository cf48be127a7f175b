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
  test('has no obstacle where the image, the base, the key and the tree are right', () => {
    expect(obstacles(settings, found)).toEqual([]);
  });

  test.each(['localhost/app:1', 'registry:5000/app:1', 'docker.io/library/app'])('goes to %s', (image) => {
    expect(obstacles({ ...settings, image }, found)).toEqual([]);
  });

  test.each([
    [
      'an image without a registry',
      { image: 'envoy-initializer:0.0.1' },
      'IMAGE=envoy-initializer:0.0.1 names no registry',
    ],
    ['an image of a user of no registry', { image: 'team/app:1' }, 'IMAGE=team/app:1 names no registry'],
    [
      'an image by digest',
      { image: 'localhost/app@sha256:abc' },
      'IMAGE=localhost/app@sha256:abc has a digest',
    ],
    ['a base by tag', { base: 'node:26-slim' }, 'BASE=node:26-slim has no digest'],
    ['a base by a short digest', { base: 'node@sha256:abc' }, 'BASE=node@sha256:abc has no digest'],
    ['no builder', { builder: '' }, 'no docker, podman or buildah'],
    ['no key', { key: '' }, 'KEY is not set'],
  ])('is refused for %s', (_, changes, message) => {
    const refused = obstacles({ ...settings, ...changes }, found);
    expect(refused).toEqual([expect.stringContaining(message)]);
  });

  test.each([
    ['a key file that is missing', { hasKeyFile: false }, 'KEY=cosign.key: there is no such file'],
    ['a key without its password', { hasPassword: false }, 'COSIGN_PASSWORD is not set'],
    [
      'uncommitted changes',
      { source: { changed: ['a', 'b', 'c', 'd', 'e'] } },
      'the git tree has uncommitted changes (a, b, c and 2 more)',
    ],
  ])('is refused for %s', (_, changes, message) => {
    const refused = obstacles(settings, { ...found, ...changes });
    expect(refused).toEqual([expect.stringContaining(message)]);
  });

  test('names all obstacles at once', () => {
    const none = { ...settings, image: 'app', base: 'node', key: '', builder: '' };
    expect(obstacles(none, { ...found, source: { changed: ['a'] } })).toHaveLength(5);
  });

  test('of a tree with uncommitted changes goes on with FORCE=1', () => {
    expect(obstacles({ ...settings, force: true }, { ...found, source: { changed: ['a'] } })).toEqual([]);
  });

  test('with a key of a key management service asks for no file and no password', () => {
    const key = 'awskms:///alias/release';
    expect(obstacles({ ...settings, key }, { ...found, hasKeyFile: false, hasPassword: false })).toEqual([]);
  });
});
