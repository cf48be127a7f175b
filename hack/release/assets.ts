/** The manifests with the image to pull instead of the local one. @throws Error if they do not name the local one. */
export function installManifests(manifests: string, version: string, reference: string): string {
  const local = `image: envoy-initializer:${version}\n`;
  if (!manifests.includes(local))
    throw new Error(`expected \`${local.trim()}\` in deploy/install.yaml: run \`make manifests\``);
  return manifests.replaceAll(local, () => `image: ${reference}\n`);
}

/** The commands that publish a release, which a person types. */
export function publishCommands(version: string, directory: string, tarball: string): string[] {
  const assets = ['install.yaml', tarball, 'sbom.cdx.json'].map((name) => `${directory}/${name}`);
  return [
    'git push --follow-tags',
    `gh release create v${version} --verify-tag --notes-file ${directory}/notes.md ${assets.join(' ')}`,
    `npm publish ./${directory}/${tarball}`,
  ];
}
