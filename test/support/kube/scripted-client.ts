import { type Cluster, KubeConfig } from '@kubernetes/client-node';
import { KubeClient } from '../../../src/kube/client/client.ts';
import type { ClientOptions } from '../../../src/kube/client/rest-client.ts';
import { Transport } from '../../../src/kube/client/transport.ts';
import type { Timer } from '../../../src/kube/workqueue/clock.ts';
import { FakeClock } from '../time/fake-clock.ts';
import { until } from '../time/until.ts';
import { ScriptedServer } from './scripted-server.ts';

/** A fake clock that tells which timers it holds. */
class WatchedClock extends FakeClock {
  readonly #waits = new Set<{ readonly delayMs: number }>();

  /** The delays with which the pending timers were set. */
  get waits(): readonly number[] {
    return [...this.#waits].map(({ delayMs }) => delayMs);
  }

  override setTimer(delayMs: number, fire: () => void): Timer {
    const wait = { delayMs };
    this.#waits.add(wait);
    const timer = super.setTimer(delayMs, () => {
      this.#waits.delete(wait);
      fire();
    });
    return {
      cancel: () => {
        this.#waits.delete(wait);
        timer.cancel();
      },
    };
  }

  /** Waits until somebody waits for exactly that long, then lets that time pass. */
  async pass(delayMs: number): Promise<void> {
    await until(() => this.waits.includes(delayMs));
    await this.advanceAsync(delayMs);
  }
}

/** A kubeconfig with these fields of client-node's `Cluster` and `User`; by default its server is verified. */
export function kubeConfigOf(
  cluster: Partial<Cluster> & Pick<Cluster, 'server'>,
  user: object = {},
): KubeConfig {
  const config = new KubeConfig();
  config.loadFromClusterAndUser({ name: 'c', skipTLSVerify: false, ...cluster }, { name: 'u', ...user });
  return config;
}

/** For plain HTTP, which client-node allows only beside skipTLSVerify. */
export function plainKubeConfig(port: number, user: object = {}): KubeConfig {
  return kubeConfigOf({ server: `http://127.0.0.1:${port}`, skipTLSVerify: true }, user);
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
