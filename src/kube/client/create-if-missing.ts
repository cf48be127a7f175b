import { isAlreadyExists } from '../api/api-error.ts';
import { CONFIG_MAPS, type ConfigMap } from '../api/core-resources.ts';
import { keyOf } from '../api/object.ts';
import type { Lister } from '../cache/store.ts';
import type { Logger } from '../util/log.ts';
import type { KubeClient } from './client.ts';

export interface CreateOptions {
  readonly client: Pick<KubeClient, 'create'>;
  /** Synced. */
  readonly lister: Pick<Lister<ConfigMap>, 'get'>;
  readonly log: Logger;
}

/**
 * Makes a ConfigMap that the operator comes with, where there is none: by POST, since from then on it is the users' own.
 * Where that fails the log says so, and all else goes on.
 */
export async function createIfMissing(
  { client, lister, log }: CreateOptions,
  configMap: ConfigMap,
  signal: AbortSignal,
): Promise<void> {
  const key = keyOf(configMap);
  if (lister.get(key)) return;
  try {
    await client.create(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', ...configMap }, { signal });
    log.info({ configMap: key }, 'there was no such ConfigMap: one was made of what comes with the operator');
  } catch (err) {
    if (signal.aborted || isAlreadyExists(err)) return;
    log.error({ configMap: key, err }, 'there is no such ConfigMap, and none can be made');
  }
}
