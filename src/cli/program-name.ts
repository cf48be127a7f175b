import { basename } from 'node:path';
import { PROGRAM } from '../util/identity.ts';

/** The name in usage and advice for a program that was started by this path: as `kubectl-envoy` it is kubectl's plugin. */
export function programName(path: string | undefined): string {
  return basename(path ?? '') === 'kubectl-envoy' ? 'kubectl envoy' : PROGRAM;
}

/** The name by which the user started this process. */
export const CALLED_AS = programName(process.argv[1]);
