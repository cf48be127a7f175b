import type { ProgressStream } from '../control-plane/progress.ts';
import { ensureGoProgram, findGoProgram } from '../go/go-program.ts';
import { pinOf } from '../go/pins.ts';

/** The paths of programs. */
export interface Krew {
  readonly krew: string;
  /** Checks a manifest as krew's index does. */
  readonly validator: string;
}

const MODULE = 'sigs.k8s.io/krew';
const program = (name: string) => ({ name, package: `${MODULE}/cmd/${name}`, pin: pinOf(MODULE) });
const KREW = program('krew');
const VALIDATOR = program('validate-krew-manifest');

/** The cached programs; undefined if one is not built. */
export async function findKrew(env: NodeJS.ProcessEnv): Promise<Krew | undefined> {
  const [krew, validator] = await Promise.all([findGoProgram(KREW, env), findGoProgram(VALIDATOR, env)]);
  return krew !== undefined && validator !== undefined ? { krew, validator } : undefined;
}

/** Builds what is missing into the cache first, which takes a minute. */
export async function ensureKrew(env: NodeJS.ProcessEnv, progress: ProgressStream): Promise<Krew> {
  return {
    krew: await ensureGoProgram(KREW, env, progress),
    validator: await ensureGoProgram(VALIDATOR, env, progress),
  };
}
