import type { KubeConfig } from '@kubernetes/client-node';
import type { LeaseClient } from '../leaderelection/lease.ts';
import { USER_AGENT } from '../util/version.ts';
import { KubeClient } from './client.ts';
import type { ClientOptions } from './rest-client.ts';
import { Transport } from './transport.ts';

/** The clients of the API server that a process uses. */
export interface ApiAccess {
  readonly client: KubeClient;
  /** For the lease alone, over separate connections: no other request can delay a renewal. */
  readonly leaseClient: LeaseClient;
  /** A client like `client` with this guard. */
  guarded(guard: NonNullable<ClientOptions['guard']>): KubeClient;
  close(): Promise<void>;
}

/** Less than the time in which a leader must renew, so that a renewal can be retried. */
const LEASE_TIMEOUT_MS = 4_000;

export function apiAccess({
  config,
  ...options
}: Omit<ClientOptions, 'transport'> & { readonly config: KubeConfig }): ApiAccess {
  const transport = new Transport(config, options.clock, USER_AGENT);
  const leaseTransport = new Transport(config, options.clock, USER_AGENT);
  return {
    client: new KubeClient({ ...options, transport }),
    leaseClient: new KubeClient({ ...options, transport: leaseTransport, timeoutMs: LEASE_TIMEOUT_MS }),
    guarded: (guard) => new KubeClient({ ...options, transport, guard }),
    async close() {
      await Promise.all([transport.close(), leaseTransport.close()]);
    },
  };
}
