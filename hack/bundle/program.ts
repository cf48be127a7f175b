import { join } from 'node:path';
import { build } from 'esbuild';

// Writes the program to dist: main.js, and below dist/program the parts that it imports when a command needs them, with
// source maps. `node hack/bundle/program.ts [DIRECTORY]`. The 878 modules of `serve` as files take 20 MB more memory
// (docs/adr/0009). Names stay, so that stack traces are readable.
const project = join(import.meta.dirname, '../..');

await build({
  absWorkingDir: project,
  entryPoints: ['src/main.ts'],
  outdir: process.argv[2] ?? 'dist',
  chunkNames: 'program/[name]-[hash]',
  bundle: true,
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node22.19',
  // Text that is only ASCII takes one byte for each character, not two; comments could have others.
  minifyWhitespace: true,
  lineLimit: 120,
  legalComments: 'none',
  sourcemap: true,
  // Packages of CommonJS require Node's modules.
  banner: {
    js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
  },
});
