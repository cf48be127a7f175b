import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from './run.ts';

/** A release whose files are to be written. */
interface Assets {
  readonly version: string;
  /** A checkout of the version. */
  readonly tree: string;
  /** The directory of the files. */
  readonly output: string;
  /** The image to pull. */
  readonly image: string;
}

/** Writes install.yaml and the Helm chart. Resolves to their names. */
export async function writeAssets({ version, tree, output, image }: Assets): Promise<string[]> {
  const helm = join(output, 'helm');
  const chart = `envoy-initializer-chart-${version}.tgz`;
  await run(process.execPath, [join(tree, 'hack/generate-manifests.ts'), output]);
  const files = [
    'install.yaml',
    ...['values.yaml', 'Chart.yaml', 'README.md'].map((name) => `helm/envoy-initializer/${name}`),
  ];
  for (const file of files.map((name) => join(output, name)))
    await writeFile(file, withImage(await readFile(file, 'utf8'), version, image));
  await run('tar', ['-czf', join(output, chart), '-C', helm, 'envoy-initializer']);
  await rm(helm, { recursive: true });
  return ['install.yaml', chart];
}

/** The manifests with the image to pull instead of the local one. @throws Error if they do not name the local one. */
function withImage(manifests: string, version: string, image: string): string {
  const local = new RegExp(`(?<=image: |")envoy-initializer:${version.replaceAll('.', '\\.')}(?=["\n])`, 'g');
  if (manifests.search(local) < 0)
    throw new Error(`expected the image envoy-initializer:${version} in the manifests`);
  return manifests.replaceAll(local, () => image);
}

/** The commands that publish a release, which a person types. `repository` is its URL. */
export function publishCommands(
  version: string,
  directory: string,
  files: readonly string[],
  tarball: string,
  repository: string,
): string[] {
  const written = [...files, tarball, 'sbom.cdx.json'].map((name) => `${directory}/${name}`);
  const assets = [...written, 'out/cli/envoy.yaml', 'out/cli/*.tar.gz'];
  return [
    'git push --follow-tags',
    `make cli URL=${repository}/releases/download/v${version}`,
    `gh release create v${version} --verify-tag --notes-file ${directory}/notes.md ${assets.join(' ')}`,
    `npm publish ./${directory}/${tarball}`,
  ];
}
