import type { ControlPlane } from '../../env/control-plane/control-plane.ts';

/** Of the API server that runs; for a signal. Not 0, which would be our own process group. */
export function apiServerPid({ pids }: Pick<ControlPlane, 'pids'>): number {
  const { 'kube-apiserver': pid } = pids;
  if (pid === undefined) throw new Error('expected the API server to run');
  return pid;
}
