import type { KubeConfig } from '@kubernetes/client-node';
import type { LeaseClient } from '../leaderelection/lease.ts';
import type { ClientMetrics } from '../prometheus/index.ts';
import type { Logger } from '../util/log.ts';
import { USER_AGENT } from '../util/version.ts';
import type { Clock } from '../workqueue/clock.ts';
import { KubeClient } from './client.ts';
import { Transport, type TransportRequest } from './transport.ts';

/** The clients of the API server that a process uses. */
export interface ApiAccess {
  readonly client: KubeClient;
  /** For the lease alone, over separate connections: no other request can delay a renewal. */
  readonly leaseClient: LeaseClient;
  /**
   * A client like `client` that calls `guard` before each attempt, and again when a connection takes it, each time
   * with the call's signal. `guard` throws to refuse.
   */
  guarded(guard: (signal: AbortSignal | undefined) => void): KubeClient;
  close(): Promise<void>;
}

/** Less than the time in which a leader must renew, so that a renewal can be retried. */
const LEASE_TIMEOUT_MS = 4_000;

export interface ApiAccessOptions {
  readonly config: KubeConfig;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics?: ClientMetrics;
}

export function apiAccess(options: ApiAccessOptions): ApiAccess {
  const { config, clock, log, metrics: counted } = options;
  const metrics: ClientMetrics = {
    writeRefused: (...refusal) => counted?.writeRefused(...refusal),
    requestFinished(method, code, seconds, path) {
      counted?.requestFinished(method, code, seconds, path);
      log.debug({ method, path, code, ms: Math.round(seconds * 1000) }, 'request to the API server');
    },
  };
  const transport = new Transport(config, clock, USER_AGENT);
  const leaseTransport = new Transport(config, clock, USER_AGENT);
  return {
    client: new KubeClient({ transport, clock, metrics }),
    leaseClient: new KubeClient({ transport: leaseTransport, clock, metrics, timeoutMs: LEASE_TIMEOUT_MS }),
    guarded(guard) {
      const send = (request: TransportRequest) =>
        transport.send({ ...request, guard: () => guard(request.signal) });
      return new KubeClient({ transport: { send }, clock, metrics, guard: async (signal) => guard(signal) });
    },
    async close() {
      await Promise.all([transport.close(), leaseTransport.close()]);
    },
  };
}
