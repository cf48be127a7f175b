import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { projectDirectory } from '../../test/env/control-plane/project-directory.ts';

/** The whole program as one module, and the licenses of the packages in it. */
export interface Bundle {
  readonly module: string;
  readonly licenses: string;
}

const project = projectDirectory();

/** Bundles src/main.ts for this Node.js. */
export async function bundle(): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: project,
    entryPoints: ['src/main.ts'],
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    format: 'esm',
    target: `node${process.versions.node}`,
    minifyWhitespace: true,
    legalComments: 'none',
    // Packages of CommonJS require Node's modules.
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(process.execPath);",
    },
  });
  const packages = Object.keys(metafile.inputs).flatMap(
    (input) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0] ?? [],
  );
  return { module: outputFiles[0]?.text ?? '', licenses: licensesOf([...new Set(packages)].sort()) };
}

function licensesOf(packages: readonly string[]): string {
  const texts = packages.map((path) => {
    const names = ['LICENSE', 'LICENSE.md', 'LICENSE.txt', 'LICENCE', 'license', 'License'];
    const file = names.map((name) => join(project, path, name)).find(existsSync);
    const { name, version, license } = JSON.parse(readFileSync(join(project, path, 'package.json'), 'utf8'));
    return `${name} ${version} (${license})\n\n${file === undefined ? '' : readFileSync(file, 'utf8')}`;
  });
  return texts.join(`\n${'-'.repeat(80)}\n`);
}
