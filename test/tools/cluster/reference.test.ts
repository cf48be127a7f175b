import { describe, expect, test } from '@jest/globals';
import { formatReference, parseReference } from '../../env/cluster/registry/reference.ts';

describe('the name of an image', () => {
  test.each([
    ['busybox', 'docker.io/library/busybox:latest'],
    ['busybox:1.36', 'docker.io/library/busybox:1.36'],
    ['envoyproxy/envoy:v1.40.0', 'docker.io/envoyproxy/envoy:v1.40.0'],
    [
      'lyft/envoy:845747db88f102c0fd262ab234308e9e22f693a1',
      'docker.io/lyft/envoy:845747db88f102c0fd262ab234308e9e22f693a1',
    ],
    ['docker.io/library/busybox:latest', 'docker.io/library/busybox:latest'],
    ['registry.k8s.io/e2e/agnhost:2', 'registry.k8s.io/e2e/agnhost:2'],
    ['localhost/pause:1', 'localhost/pause:1'],
    ['localhost:5000/app', 'localhost:5000/app:latest'],
  ])('%s is in full %s', (name, full) => {
    expect(formatReference(parseReference(name))).toBe(full);
  });

  test.each(['', 'Busybox', 'busybox@sha256:00', 'docker.io/', 'a b'])('`%s` is refused', (name) => {
    expect(() => parseReference(name)).toThrow(`got ${name}`);
  });
});
