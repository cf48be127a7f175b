import { expect, test } from '@jest/globals';
import { provenance } from '../../../hack/release/provenance.ts';

const revision = '1'.repeat(40);
const build = {
  settings: {
    image: 'registry.example.com/app:1',
    base: `docker.io/library/node:26-slim@sha256:${'a'.repeat(64)}`,
    key: 'cosign.key',
    builder: 'podman',
    pushFlags: ['--creds=user:secret'],
    force: true,
    transparencyLog: false,
  },
  source: { revision, changed: ['src/main.ts'], uri: 'git+https://example.com/project.git' },
  builderVersion: 'podman version 5',
  startedOn: new Date(0),
  finishedOn: new Date(1_000),
};

test('has the commit, the base, the parameters and the uncommitted files, but no secret', () => {
  expect(provenance(build)).toMatchObject({
    buildDefinition: {
      externalParameters: { image: 'registry.example.com/app:1', force: true },
      internalParameters: { uncommittedFiles: ['src/main.ts'] },
      resolvedDependencies: [
        { uri: 'git+https://example.com/project.git', digest: { gitCommit: revision } },
        { uri: 'docker://docker.io/library/node:26-slim', digest: { sha256: 'a'.repeat(64) } },
      ],
    },
    runDetails: {
      builder: { version: { builder: 'podman version 5' } },
      metadata: { startedOn: '1970-01-01T00:00:00.000Z', finishedOn: '1970-01-01T00:00:01.000Z' },
    },
  });
  expect(JSON.stringify(provenance(build))).not.toMatch(/secret|cosign\.key/);
});
