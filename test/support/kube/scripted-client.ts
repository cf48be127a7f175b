import { KubeConfig } from '@kubernetes/client-node';
import { KubeClient } from '../../../src/kube/client/client.ts';
import type { ClientOptions } from '../../../src/kube/client/rest-client.ts';
import { Transport } from '../../../src/kube/client/transport.ts';
import { WatchedClock } from '../time/watched-clock.ts';
import { ScriptedServer } from './scripted-server.ts';

/** A kubeconfig for plain HTTP, which client-node allows only beside skipTLSVerify. */
export function plainKubeConfig(port: number, user: object = {}): KubeConfig {
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    { name: 'scripted', server: `http://127.0.0.1:${port}`, skipTLSVerify: true },
    { name: 'test', ...user },
  );
  return config;
}

/** A client of a scripted server, and all there is to close after a test. */
export async function startScripted(options: Partial<ClientOptions> = {}, user: object = {}) {
  const server = await ScriptedServer.start();
  const clock = new WatchedClock();
  const transport = new Transport(plainKubeConfig(server.port, user), clock);
  const client = new KubeClient({ transport, clock, ...options });
  const close = async () => {
    await transport.close();
    await server.close();
  };
  return { server, clock, transport, client, close };
}
