/** The manifests with the image to pull instead of the local one. @throws Error if they do not name the local one. */
export function installManifests(manifests: string, version: string, reference: string): string {
  const local = `image: envoy-initializer:${version}\n`;
  if (!manifests.includes(local))
    throw new Error(`expected \`${local.trim()}\` in deploy/install.yaml: run \`make manifests\``);
  return manifests.replaceAll(local, () => `image: ${reference}\n`);
}

/** The commands that publish a release, which a person types. `repository` is its URL. */
export function publishCommands(
  version: string,
  directory: string,
  tarball: string,
  repository: string,
): string[] {
  const files = ['install.yaml', tarball, 'sbom.cdx.json'].map((name) => `${directory}/${name}`);
  const assets = [...files, 'out/cli/envoy.yaml', 'out/cli/*.tar.gz'];
  return [
    'git push --follow-tags',
    `make cli URL=${repository}/releases/download/v${version}`,
    `gh release create v${version} --verify-tag --notes-file ${directory}/notes.md ${assets.join(' ')}`,
    `npm publish ./${directory}/${tarball}`,
  ];
}
