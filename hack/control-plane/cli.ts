import { ensureBinaries } from './build.ts';

console.error(await ensureBinaries(process.env, process.stderr));
