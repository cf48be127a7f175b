import type { KubeConfig } from '@kubernetes/client-node';
import { type LoadOptions, loadKubeConfig } from '../kube/load-config.ts';
import { toError } from '../kube/to-error.ts';
import { UsageError } from './terminal.ts';

/**
 * The kubeconfig of a command.
 * @throws UsageError when the API server cannot be reached by it: before anything starts, and in one line.
 */
export function usableKubeConfig(options: Pick<LoadOptions, 'kubeconfig' | 'master'>): KubeConfig {
  try {
    return loadKubeConfig(options);
  } catch (cause) {
    throw new UsageError(`no usable kubeconfig: ${toError(cause).message}`, { cause });
  }
}
