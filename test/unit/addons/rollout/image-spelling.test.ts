import { expect, test } from '@jest/globals';
import { isSameImage, respelled } from '../../../../src/addons/rollout/image-spelling.ts';

const DIGEST = `@sha256:${'a'.repeat(64)}`;
const OTHER = `@sha256:${'b'.repeat(64)}`;

test.each([
  ['envoyproxy/envoy:v1.40.0', 'docker.io/envoyproxy/envoy:v1.40.0'],
  ['busybox', 'docker.io/library/busybox'],
  [`envoyproxy/envoy${DIGEST}`, `docker.io/envoyproxy/envoy${DIGEST}`],
  [`quay.io/a/envoy:v1${DIGEST}`, `quay.io/a/envoy${DIGEST}`],
  [`localhost:5000/envoy${DIGEST}`, `localhost:5000/envoy:restarted${DIGEST}`],
])(
  'the other spelling of an image of %s is the same image, and that of it the first again',
  (image, other) => {
    expect(respelled(image)).toBe(other);
    expect(isSameImage(image, other)).toBe(true);
    expect(isSameImage(image, respelled(other) ?? '')).toBe(true);
    expect(respelled(other)).not.toBe(other);
  },
);

test.each(['quay.io/a/envoy:v1', 'localhost:5000/envoy', 'registry.example.com/envoy'])(
  'the other spelling of an image is not known for %s',
  (image) => {
    expect(respelled(image)).toBeUndefined();
  },
);

test.each([
  ['envoyproxy/envoy:v1', 'envoyproxy/envoy:v2'],
  ['envoyproxy/envoy:v1', 'quay.io/envoyproxy/envoy:v1'],
  [`quay.io/a/envoy${DIGEST}`, `quay.io/a/envoy${OTHER}`],
  [`quay.io/a/envoy:v1${DIGEST}`, 'quay.io/a/envoy:v1'],
  ['localhost:5000/envoy', 'docker.io/localhost:5000/envoy'],
  ['library/envoy', 'a/envoy'],
])('%s and %s are two images', (a, b) => {
  expect(isSameImage(a, b)).toBe(false);
});
