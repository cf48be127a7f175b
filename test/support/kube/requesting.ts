import { KubeClient } from '../../../src/kube/client/client.ts';
import type { RequestOptions } from '../../../src/kube/client/rest-client.ts';
import type { Method } from '../../../src/kube/client/transport.ts';
import { FakeClock } from '../time/fake-clock.ts';

type Request = (method: Method, path: string, options?: RequestOptions) => Promise<unknown>;

/** A client whose requests a test answers, without a transport. */
export function requesting(request: Request): KubeClient {
  const transport = { send: () => Promise.reject(new Error('expected no request')) };
  return Object.assign(new KubeClient({ transport, clock: new FakeClock() }), { request });
}
