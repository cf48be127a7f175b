import { readServerVersion, type ServerMinor, type ServerVersion } from '../kube/client/server-version.ts';
import type { Manager } from '../kube/manager/manager.ts';

/** The rules of the Network CRD need the CEL of this minor version. */
export const OLDEST_MINOR = 31;
/** How often replicas ask for the version, and again after a failure. */
const [PERIOD_MS, RETRY_MS] = [60_000, 5_000];

/** Follows the version of the API server on every replica. A replica is ready after its first try to read it. */
export function setUpServerVersion(manager: Manager): ServerMinor {
  const { client, log } = manager;
  const listeners: ((before: number | undefined) => void)[] = [];
  let version: ServerVersion | undefined;
  let isTried = false;
  const look = async (signal: AbortSignal) => {
    const before = version;
    version = await readServerVersion(client, signal);
    isTried = true;
    const { gitVersion, minor } = version;
    if (gitVersion !== before?.gitVersion) {
      log.info(
        { version: gitVersion },
        before ? 'API server version changed' : 'connected to the API server',
      );
      if (minor !== undefined && minor < OLDEST_MINOR) {
        log.error(
          { version: gitVersion },
          `API server is too old: expected Kubernetes 1.${OLDEST_MINOR} or newer`,
        );
      }
    }
    if (minor !== before?.minor) for (const listener of listeners) listener(before?.minor);
  };
  manager.everyReplica('server version', look, {
    everyMs: PERIOD_MS,
    retryMs: RETRY_MS,
    failed(err) {
      isTried = true;
      log.warn({ err }, 'cannot read the version of the API server, retrying');
    },
  });
  manager.addReadyz('server-version', () => (isTried ? undefined : 'version of the API server not read'));
  return {
    current: () => version?.minor,
    onChanged: (listener) => listeners.push(listener),
  };
}
