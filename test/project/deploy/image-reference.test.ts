import { describe, expect, test } from '@jest/globals';
import { imageParts } from '../../../hack/deploy/image-reference.ts';

describe('an image reference', () => {
  test.each([
    ['envoy-initializer:v1', { newName: 'envoy-initializer', newTag: 'v1' }],
    [
      'registry.example.com:5000/team/app:v2',
      { newName: 'registry.example.com:5000/team/app', newTag: 'v2' },
    ],
    [
      'registry.example.com:5000/team/app',
      { newName: 'registry.example.com:5000/team/app', newTag: 'latest' },
    ],
    ['example.com/app@sha256:abc', { newName: 'example.com/app', digest: 'sha256:abc' }],
    ['example.com/app:v2@sha256:abc', { newName: 'example.com/app', digest: 'sha256:abc' }],
  ])('%s is split into its parts', (reference, parts) => {
    expect(imageParts(reference)).toEqual(parts);
  });
});
