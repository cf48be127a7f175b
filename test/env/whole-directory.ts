import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/**
 * Makes a directory that is there whole or not at all; of two that make it at once, the second has done so in vain. `fill`
 * is given a temporary directory to work in, and the path at which it is to make the one that becomes `directory`.
 */
export async function makeWhole(
  directory: string,
  fill: (temporary: string, whole: string) => Promise<void>,
): Promise<void> {
  await mkdir(dirname(directory), { recursive: true });
  const temporary = await mkdtemp(`${directory}.`);
  try {
    const whole = join(temporary, 'whole');
    await fill(temporary, whole);
    await rename(whole, directory).catch((err: unknown) => {
      if (!existsSync(directory)) throw err;
    });
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}
