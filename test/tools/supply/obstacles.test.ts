import { expect, test } from '@jest/globals';
import { obstacles } from '../../../hack/release/obstacles.ts';

const settings = {
  image: 'registry.example.com/envoy-initializer:0.0.1',
  base: `docker.io/library/node:26-slim@sha256:${'a'.repeat(64)}`,
  key: 'cosign.key',
  builder: 'podman',
  pushFlags: [],
  force: false,
  transparencyLog: false,
};
const found = { source: { changed: [] as readonly string[] }, hasKeyFile: true, hasPassword: true };
const CHANGED = { source: { changed: ['a', 'b', 'c', 'd', 'e'] } };

test.each([
  [{}, {}],
  [{ image: 'localhost/app:1' }, {}],
  [{ image: 'registry:5000/app:1' }, {}],
  [{ force: true }, CHANGED],
  // Of a key management service: no file, and no password.
  [{ key: 'awskms:///alias/release' }, { hasKeyFile: false, hasPassword: false }],
])('a release with %j and %j has no obstacle', (settingsHere, foundHere) => {
  expect(obstacles({ ...settings, ...settingsHere }, { ...found, ...foundHere })).toEqual([]);
});

test.each([
  [{ image: 'team/app:1' }, {}, 'IMAGE=team/app:1 has no registry'],
  [{ image: 'localhost/app@sha256:abc' }, {}, 'IMAGE=localhost/app@sha256:abc has a digest'],
  [{ base: 'node:26-slim' }, {}, 'BASE=node:26-slim has no digest'],
  [{ base: 'node@sha256:abc' }, {}, 'BASE=node@sha256:abc has no digest'],
  [{ builder: '' }, {}, 'docker, podman and buildah are not on the PATH'],
  [{ key: '' }, {}, 'KEY is not set'],
  [{}, { hasKeyFile: false }, 'KEY=cosign.key: the file does not exist'],
  [{}, { hasPassword: false }, 'COSIGN_PASSWORD is not set'],
  [{}, CHANGED, 'the git tree has uncommitted changes (a, b, c and 2 more)'],
])('a release with %j and %j is refused: %s', (settingsHere, foundHere, message) => {
  const refused = obstacles({ ...settings, ...settingsHere }, { ...found, ...foundHere });
  expect(refused).toEqual([expect.stringContaining(message)]);
});

test('a release tells all obstacles at once', () => {
  const none = { ...settings, image: 'app', base: 'node', key: '', builder: '' };
  expect(obstacles(none, { ...found, ...CHANGED })).toHaveLength(5);
});
