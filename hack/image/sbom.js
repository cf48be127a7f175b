// Prints the software bill of materials of the image (CycloneDX). It is npm's without the random number and the time, so
// that two builds do not differ. It runs in the image's first stage, so it is not TypeScript.
import { execFileSync } from 'node:child_process';

// From the installed packages: with the lock file alone, npm omits packages that development tools also use.
const args = ['sbom', '--sbom-format=cyclonedx'];
const { serialNumber: _number, metadata, components, ...sbom } = JSON.parse(execFileSync('npm', args));
const { timestamp: _time, component, ...origin } = metadata;
const { node } = process.versions;
const runtime = { type: 'platform', name: 'node', version: node, purl: `pkg:generic/node@${node}` };
process.stdout.write(
  JSON.stringify({
    ...sbom,
    // npm uses the name of the directory.
    metadata: { ...origin, component: { ...component, type: 'application', name: 'envoy-initializer' } },
    components: [{ 'bom-ref': `node@${node}`, ...runtime }, ...components],
  }),
);
