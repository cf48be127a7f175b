import { isAlreadyExists, isNamespaceTerminating, isRefused } from '../api/api-error.ts';
import { CONFIG_MAPS, type ConfigMap } from '../api/core-resources.ts';
import { keyOf } from '../api/object.ts';
import type { Lister } from '../cache/store.ts';
import { tellRefusal } from '../controller/refusals.ts';
import type { EventRecorder } from '../events/events.ts';
import { toError } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import type { Task } from '../util/task-group.ts';
import type { KubeClient } from './client.ts';

export interface RestoreOptions {
  readonly client: Pick<KubeClient, 'create'>;
  /** The cache must have synced. */
  readonly lister: Pick<Lister<ConfigMap>, 'get'>;
  readonly log: Logger;
  readonly events: EventRecorder;
}

/** How often the task of {@link restoreConfigMap} runs. */
export const RESTORE_MS = 15_000;

/**
 * A task that creates a ConfigMap if it does not exist: at the first call, later if it is missing at two calls in a
 * row, because users may replace it. It uses POST, since the ConfigMap belongs to the users afterwards. Rejects with a
 * failure: call it again.
 */
export function restoreConfigMap(
  { client, lister, log, events }: RestoreOptions,
  wanted: () => ConfigMap,
): Task {
  let isMissing = true;
  return async (signal) => {
    const configMap = wanted();
    const key = keyOf(configMap);
    const wasMissing = isMissing;
    isMissing = lister.get(key) === undefined;
    if (!isMissing || !wasMissing) return;
    try {
      await client.create(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', ...configMap }, { signal });
      log.info({ configMap: key }, 'created missing ConfigMap');
    } catch (err) {
      if (signal.aborted || isAlreadyExists(err) || isNamespaceTerminating(err)) return;
      if (isRefused(err)) tellRefusal(events, { apiVersion: 'v1', kind: 'ConfigMap', ...configMap }, err);
      throw new Error(`cannot create missing ConfigMap ${key}: ${toError(err).message}`, { cause: err });
    }
  };
}
