import { KubeConfig } from '@kubernetes/client-node';

import { KubeClient } from '../../../src/kube/client/client.ts';
import { Transport } from '../../../src/kube/client/transport.ts';
import { systemClock } from '../../../src/kube/workqueue/clock.ts';

/** A client of a real API server, with connections of its own. */
export interface ApiAccess {
  readonly client: KubeClient;
  /** Ends its connections; every request from now on fails. */
  close(): Promise<void>;
}

export function connect(kubeconfigPath: string): ApiAccess {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfigPath);
  const transport = new Transport(config, systemClock);
  return { client: new KubeClient({ transport, clock: systemClock }), close: () => transport.close() };
}
