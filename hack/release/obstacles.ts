import { hasDigest } from './base-image.ts';
import type { Source } from './source.ts';

/** The user's settings for a release. */
export interface ReleaseSettings {
  /** The image to push, such as `registry.example.com/envoy-initializer:0.0.1`. */
  readonly image: string;
  /** The base image, by digest. */
  readonly base: string;
  /** The private key: a file, or a URI of cosign such as `awskms://…`. */
  readonly key: string;
  /** The program that builds and pushes: docker, podman or buildah, or its path. */
  readonly builder: string;
  /** More arguments of `push`. */
  readonly pushFlags: readonly string[];
  /** Releases a tree with uncommitted changes, too. */
  readonly force: boolean;
  /** Publishes each signature in the transparency log of sigstore. */
  readonly transparencyLog: boolean;
}

/** What the release finds on the machine. */
export interface Surroundings {
  readonly source: Pick<Source, 'changed'>;
  readonly hasKeyFile: boolean;
  readonly hasPassword: boolean;
}

/** The most changed files that a message names. */
const NAMED_FILES = 3;

/** Returns everything that prevents a release, one line each. */
export function obstacles(settings: ReleaseSettings, found: Surroundings): string[] {
  return [
    ...imageObstacles(settings.image),
    ...(hasDigest(settings.base)
      ? []
      : [
          `BASE=${settings.base} has no digest, so the next build may get another base: ` +
            'write BASE=image:tag@sha256:…, or run `make base-digest`',
        ]),
    ...(settings.builder === '' ? ['docker, podman and buildah are not on the PATH: install one'] : []),
    ...keyObstacles(settings.key, found),
    ...treeObstacles(settings, found),
  ];
}

function imageObstacles(image: string): string[] {
  const example = 'write IMAGE=registry.example.com/envoy-initializer:0.0.1';
  if (image.includes('@')) return [`IMAGE=${image} has a digest, which only the build can set: ${example}`];
  const [host = '', ...path] = image.split('/');
  const hasHost = path.length > 0 && (host === 'localhost' || /[.:]/.test(host));
  return hasHost ? [] : [`IMAGE=${image} has no registry: ${example}`];
}

function keyObstacles(key: string, { hasKeyFile, hasPassword }: Surroundings): string[] {
  if (key === '') {
    return [
      'KEY is not set: write KEY=cosign.key (`cosign generate-key-pair` creates one), or a URI such as KEY=awskms://…',
    ];
  }
  if (key.includes('://')) return [];
  if (!hasKeyFile) return [`KEY=${key}: the file does not exist: \`cosign generate-key-pair\` creates one`];
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
