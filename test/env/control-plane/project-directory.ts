import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root of this project, from wherever the code runs: the sources, or build/ beside them, which holds no data files. */
export function projectDirectory(): string {
  let directory = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(directory, 'package.json'))) {
    const parent = dirname(directory);
    if (parent === directory) throw new Error('expected a package.json in a directory above this file');
    directory = parent;
  }
  return directory;
}
