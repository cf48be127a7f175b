import type { KubeConfig } from '@kubernetes/client-node';
import { toError } from '../../util/to-error.ts';
import { UsageError } from '../../util/usage-error.ts';
import { type LoadOptions, loadKubeConfig } from './load-config.ts';

/**
 * The kubeconfig of a command. `instead` ends the message, with what to do without one.
 * @throws UsageError of one line if the configuration is unusable. Call it before anything starts.
 */
export function usableKubeConfig(options: LoadOptions, instead = ''): KubeConfig {
  try {
    return loadKubeConfig(options);
  } catch (cause) {
    throw new UsageError(`no usable kubeconfig: ${toError(cause).message}${instead}`, { cause });
  }
}
