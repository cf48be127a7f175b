import { PROGRAM } from '../json/own-names.ts';
import { isNotFound } from '../kube/api/api-error.ts';
import { MUTATING_WEBHOOK_CONFIGURATIONS } from '../kube/api/core-resources.ts';
import type { KubeClient } from '../kube/client/client.ts';
import type { Manager } from '../kube/manager/manager.ts';
import type { Logger } from '../kube/util/log.ts';
import { configurationMismatches, type SelectionFlags } from './configuration-mismatch.ts';

/** The rules of the Network CRD need the CEL of this minor version. */
export const OLDEST_MINOR = 31;
const RETRY_MS = 5_000;

/**
 * Each replica checks the cluster once the API server answers. It logs what will not work: missing webhooks, and flags
 * that do not match the webhooks. It stops nothing.
 */
export function setUpPreflight(manager: Manager, flags: SelectionFlags): void {
  const { client, log } = manager;
  const look = (signal: AbortSignal) => checkWebhooks(client, flags, log, signal);
  manager.everyReplica('preflight', look, {
    retryMs: RETRY_MS,
    failed: (err) => log.warn({ err }, 'preflight failed, retrying'),
  });
}

async function checkWebhooks(
  client: KubeClient,
  flags: SelectionFlags,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  const name = PROGRAM;
  try {
    const configuration = await client.get(MUTATING_WEBHOOK_CONFIGURATIONS, { name }, { signal });
    for (const mismatch of configurationMismatches(configuration, flags)) {
      log.warn({ configuration: name }, `a flag has no effect: ${mismatch}`);
    }
  } catch (error) {
    if (!isNotFound(error)) throw error;
    log.warn(
      { configuration: name },
      'MutatingWebhookConfiguration does not exist: the API server sends no pods',
    );
  }
}
