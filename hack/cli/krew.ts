import { dump } from 'js-yaml';

/** An archive of the command line. */
export interface Archive {
  /** As Node.js names them. */
  readonly platform: string;
  readonly arch: string;
  readonly uri: string;
  /** Hexadecimal. */
  readonly sha256: string;
}

/** Go's names, which krew compares. */
const ARCHES: Readonly<Record<string, string>> = { x64: 'amd64' };

/** The manifest by which krew, kubectl's plugin manager, installs `kubectl envoy` (krew.googlecontainertools.github.com/v1alpha2). */
export function krewManifest(version: string, bin: string, archives: readonly Archive[]): string {
  return dump(
    {
      apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
      kind: 'Plugin',
      metadata: { name: 'envoy' },
      spec: {
        version: `v${version}`,
        shortDescription: 'Inspect the injection of Envoy sidecars',
        description:
          'Injects the sidecar of envoy-initializer into manifests, explains why a pod has one or not,\nand finds mistakes in templates.\n',
        platforms: archives.map(({ platform, arch, uri, sha256 }) => ({
          selector: { matchLabels: { os: platform, arch: goArch(arch) } },
          uri,
          sha256,
          bin,
        })),
      },
    },
    { lineWidth: -1 },
  );
}

export function goArch(arch: string): string {
  return ARCHES[arch] ?? arch;
}
