import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import { Manager } from '../../../src/kube/manager/manager.ts';
import type { Clock } from '../../../src/kube/workqueue/clock.ts';

export interface TestManagerOptions {
  /** All that it asks of the API server goes by this one. */
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly leaderElection?: { readonly namespace: string };
}

/** A manager without a port and, by default, without an election. */
export function testManager({ client, ...options }: TestManagerOptions): Manager {
  const api = { client, leaseClient: client, guarded: () => client, async close() {} };
  return new Manager({ name: 'test', api, registry: new Registry(), ...options });
}
