import { hasDigest } from './base-image.ts';
import type { Source } from './source.ts';

/** What the user asks of a release. */
export interface ReleaseSettings {
  /** Where the image is pushed, as in `registry.example.com/envoy-initializer:0.0.1`. */
  readonly image: string;
  /** The image that the build starts from, by digest. */
  readonly base: string;
  /** The private key: a file, or a URI of cosign such as `awskms://…`. */
  readonly key: string;
  /** The program that builds and pushes: docker, podman or buildah, or a path of one. */
  readonly builder: string;
  /** More arguments of `push`. */
  readonly pushFlags: readonly string[];
  /** Whether a tree with uncommitted changes is released all the same. */
  readonly force: boolean;
  /** Whether each signature is published in the transparency log of sigstore. */
  readonly transparencyLog: boolean;
}

/** What the release finds on the machine. */
export interface Surroundings {
  readonly source: Pick<Source, 'changed'>;
  readonly hasKeyFile: boolean;
  readonly hasPassword: boolean;
}

/** Changed files that an obstacle names. */
const NAMED_FILES = 3;

/** Everything that stops a release, one line each; empty where nothing does. */
export function obstacles(settings: ReleaseSettings, found: Surroundings): string[] {
  return [
    ...imageObstacles(settings.image),
    ...(hasDigest(settings.base)
      ? []
      : [
          `BASE=${settings.base} has no digest, so another base may be pulled the next time: ` +
            'write BASE=image:tag@sha256:…, or run `make base-digest`',
        ]),
    ...(settings.builder === '' ? ['no docker, podman or buildah is here: install one'] : []),
    ...keyObstacles(settings.key, found),
    ...treeObstacles(settings, found),
  ];
}

function imageObstacles(image: string): string[] {
  const example = 'write IMAGE=registry.example.com/envoy-initializer:0.0.1';
  if (image.includes('@')) return [`IMAGE=${image} has a digest, which only the build can tell: ${example}`];
  const [host = '', ...path] = image.split('/');
  const hasHost = path.length > 0 && (host === 'localhost' || /[.:]/.test(host));
  return hasHost ? [] : [`IMAGE=${image} names no registry: ${example}`];
}

function keyObstacles(key: string, { hasKeyFile, hasPassword }: Surroundings): string[] {
  if (key === '') {
    return [
      'KEY is not set: write KEY=cosign.key (`cosign generate-key-pair` makes one), or a URI as KEY=awskms://…',
    ];
  }
  if (key.includes('://')) return [];
  if (!hasKeyFile) return [`KEY=${key}: there is no such file: \`cosign generate-key-pair\` makes one`];
  return hasPassword
    ? []
    : [`COSIGN_PASSWORD is not set: set it to the password of ${key}, which may be empty`];
}

function treeObstacles({ force }: ReleaseSettings, { source: { changed } }: Surroundings): string[] {
  if (force || changed.length === 0) return [];
  const named = changed.slice(0, NAMED_FILES).join(', ');
  const more = changed.length > NAMED_FILES ? ` and ${changed.length - NAMED_FILES} more` : '';
  return [
    `the git tree has uncommitted changes (${named}${more}): commit them, or release them with FORCE=1`,
  ];
}
