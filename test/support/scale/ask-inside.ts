import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { extname } from 'node:path';
import { eventually } from '../../env/eventually.ts';
import type { Runs } from './run-counter.ts';

/** Flags of Node for a process that can be asked. */
export function insideFlags(out: string): readonly string[] {
  // The script stands beside this file, as TypeScript in the sources and as JavaScript in what tsc made of them.
  const script = import.meta.resolve(`./inside${extname(import.meta.url)}`);
  return ['--import', `${script}?out=${out}`];
}

/** Asks the process with this id, which writes into `out`, what ran since the last time. */
export async function askInside(pid: number, out: string): Promise<Runs> {
  await rm(out, { force: true });
  process.kill(pid, 'SIGUSR2');
  await eventually('the process tells of itself', async () => existsSync(out));
  return JSON.parse(await readFile(out, 'utf8'));
}
