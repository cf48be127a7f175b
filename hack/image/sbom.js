// Prints the software bill of materials of the image (CycloneDX), from npm's, without what would make two builds differ:
// a random number and the time. Run in the image's first stage, so no TypeScript.
import { execFileSync } from 'node:child_process';

// Of what is installed: from the lock file alone, npm leaves out packages that tools of development use as well.
const args = ['sbom', '--sbom-format=cyclonedx'];
const { serialNumber: _number, metadata, components, ...sbom } = JSON.parse(execFileSync('npm', args));
const { timestamp: _time, component, ...origin } = metadata;
const { node } = process.versions;
const runtime = { type: 'platform', name: 'node', version: node, purl: `pkg:generic/node@${node}` };
process.stdout.write(
  JSON.stringify({
    ...sbom,
    // npm calls it by the name of the directory.
    metadata: { ...origin, component: { ...component, type: 'application', name: 'envoy-initializer' } },
    components: [{ 'bom-ref': `node@${node}`, ...runtime }, ...components],
  }),
);
