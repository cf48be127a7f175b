import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Packs dist as the npm package, and prints the tarball's path: `node hack/pack.ts [DIRECTORY]`. What only this project's
 * own checkout needs is left out of package.json; its own Node above all, which a user would find in place of theirs.
 */
const OURS = ['devDependencies', 'optionalDependencies', 'overrides', 'scripts'];
const project = join(import.meta.dirname, '..');
const directory = process.argv[2] ?? join(project, 'out');
const staging = join(directory, 'package');

rmSync(staging, { recursive: true, force: true });
mkdirSync(staging, { recursive: true });
for (const name of ['LICENSE', 'README.md', 'dist'])
  cpSync(join(project, name), join(staging, name), { recursive: true });
const manifest: object = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'));
const published = Object.entries(manifest).filter(([field]) => !OURS.includes(field));
writeFileSync(join(staging, 'package.json'), JSON.stringify(Object.fromEntries(published), undefined, 2));
const packed = execFileSync('npm', ['pack', '--silent', '--pack-destination', directory], {
  cwd: staging,
  encoding: 'utf8',
});
rmSync(staging, { recursive: true });
console.log(join(directory, packed.trim()));
