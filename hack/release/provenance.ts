import { withoutDigest } from './base-image.ts';
import type { ReleaseSettings } from './obstacles.ts';
import type { Source } from './source.ts';

/** The build type of `make release`. */
const BUILD_TYPE = 'urn:envoy-initializer:make-release:v1';

/** A build that has ended. */
export interface Build {
  readonly settings: ReleaseSettings;
  readonly source: Source;
  /** The builder's own text for its version. */
  readonly builderVersion: string;
  readonly startedOn: Date;
  readonly finishedOn: Date;
}

/** The predicate of SLSA provenance v1 for a build (https://slsa.dev/spec/v1.0/provenance). */
export function provenance({ settings, source, builderVersion, startedOn, finishedOn }: Build) {
  const { image, base, force } = settings;
  return {
    buildDefinition: {
      buildType: BUILD_TYPE,
      externalParameters: { image, base, force },
      internalParameters: { uncommittedFiles: source.changed },
      resolvedDependencies: [
        {
          ...(source.uri === undefined ? { name: 'source' } : { uri: source.uri }),
          digest: { gitCommit: source.revision },
        },
        { uri: `docker://${withoutDigest(base)}`, digest: { sha256: base.split('@sha256:')[1] ?? '' } },
      ],
    },
    runDetails: {
      builder: { id: BUILD_TYPE, version: { builder: builderVersion, node: process.version } },
      metadata: { startedOn: startedOn.toISOString(), finishedOn: finishedOn.toISOString() },
    },
  };
}
