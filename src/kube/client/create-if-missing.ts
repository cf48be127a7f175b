import { isAlreadyExists, isRefused } from '../api/api-error.ts';
import { CONFIG_MAPS, type ConfigMap } from '../api/core-resources.ts';
import { keyOf } from '../api/object.ts';
import type { Lister } from '../cache/store.ts';
import { tellRefusal } from '../controller/refusals.ts';
import type { EventRecorder } from '../events/events.ts';
import type { Logger } from '../util/log.ts';
import { toError } from '../util/to-error.ts';
import type { KubeClient } from './client.ts';

export interface CreateOptions {
  readonly client: Pick<KubeClient, 'create'>;
  /** The cache must have synced. */
  readonly lister: Pick<Lister<ConfigMap>, 'get'>;
  readonly log: Logger;
  readonly events: EventRecorder;
}

/**
 * Creates a default ConfigMap if it does not exist. It uses POST, since the ConfigMap belongs to the users afterwards.
 * Rejects with a failure: try again.
 */
export async function createIfMissing(
  { client, lister, log, events }: CreateOptions,
  configMap: ConfigMap,
  signal: AbortSignal,
): Promise<void> {
  const key = keyOf(configMap);
  if (lister.get(key)) return;
  try {
    await client.create(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', ...configMap }, { signal });
    log.info({ configMap: key }, 'created default ConfigMap');
  } catch (err) {
    if (signal.aborted || isAlreadyExists(err)) return;
    if (isRefused(err)) tellRefusal(events, { apiVersion: 'v1', kind: 'ConfigMap', ...configMap }, err);
    throw new Error(`cannot create default ConfigMap ${key}: ${toError(err).message}`, { cause: err });
  }
}
