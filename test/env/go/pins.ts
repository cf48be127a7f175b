import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectDirectory } from '../control-plane/project-directory.ts';

/** A Go module from which programs are built, or files taken. */
export interface Pin {
  readonly module: string;
  /** As in `v1.36.3`. */
  readonly version: string;
  /** SHA-256 of the go.sum with which it is built, in hex; for a module that is not built, its own hash in a go.sum. */
  readonly lock: string;
  /** Modules, as in `example.com/a@v1.0.0`, that it is built with in place of the versions that it asks for. */
  readonly replace?: readonly string[];
}

export const PINS_FILE = join(projectDirectory(), 'test', 'env', 'go', 'pins.txt');

/** The lines of pins.txt for a module: Kubernetes has one for each of its versions. */
export function pinsOf(module: string): readonly Pin[] {
  const lines = readFileSync(PINS_FILE, 'utf8').trim().split('\n');
  const pins = lines.map((line) => line.split(' '));
  return pins.flatMap(([name, version, lock]) =>
    name === module && version && lock ? [{ module, version, lock }] : [],
  );
}

/** The only line for a module. */
export function pinOf(module: string): Pin {
  const [pin] = pinsOf(module);
  if (pin === undefined) throw new Error(`expected a line for ${module} in ${PINS_FILE}, got none`);
  return pin;
}
