import { readFileSync } from 'node:fs';
import { KubeConfig } from '@kubernetes/client-node';
import type { KubeObject } from '../../src/kube/api/object.ts';
import { apiVersionOf } from '../../src/kube/api/resource.ts';
import { Informer } from '../../src/kube/cache/informer.ts';
import { KubeClient } from '../../src/kube/client/client.ts';
import { Transport } from '../../src/kube/client/transport.ts';
import { systemClock as clock } from '../../src/kube/workqueue/clock.ts';
import { conditionOf } from '../../src/networks/api/conditions.ts';
import { NETWORKS } from '../../src/networks/api/resources.ts';
import type { Network } from '../../src/networks/api/types.ts';
import type { ControlPlane } from '../env/control-plane/control-plane.ts';

export const NAMESPACE = 'default';
/** Requests at once where objects are only made to be there. */
const SETUP_CONNECTIONS = 8;

/** A user of the control plane, who makes objects and watches what becomes of them. */
export class User {
  readonly client: KubeClient;
  readonly #transport: Transport;

  constructor(controlPlane: ControlPlane) {
    const config = new KubeConfig();
    config.loadFromString(readFileSync(controlPlane.kubeconfigPath, 'utf8'));
    this.#transport = new Transport(config, clock);
    this.client = new KubeClient({ transport: this.#transport, clock });
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  /** Makes the Networks with these numbers; no two overlap. */
  createNetworks(from: number, to: number): Promise<void> {
    return eachAtOnce(from, to, SETUP_CONNECTIONS, async (i) => {
      await this.client.create(NETWORKS, networkNumber(i));
    });
  }

  /** Watches until `end()`; `untilReady(n)` resolves when n Networks are Ready. */
  watchReady(): { readonly untilReady: (count: number) => Promise<void>; readonly end: () => Promise<void> } {
    const stop = new AbortController();
    let [ready, wanted, done] = [0, Number.POSITIVE_INFINITY, () => {}];
    const informer = new Informer({
      client: this.client,
      resource: NETWORKS,
      clock,
      transform: readinessOnly,
      onError() {},
    });
    const look = (now: KubeObject, before?: KubeObject) => {
      ready += Number(isReady(now)) - Number(before !== undefined && isReady(before));
      if (ready >= wanted) done();
    };
    informer.addEventHandler({ onAdd: (one) => look(one), onUpdate: (before, one) => look(one, before) });
    const running = informer.run(stop.signal);
    return {
      untilReady: (count) =>
        new Promise((resolve) => {
          [wanted, done] = [count, resolve];
          if (ready >= wanted) resolve();
        }),
      end: () => {
        stop.abort();
        return running;
      },
    };
  }
}

export function networkNumber(i: number): Network {
  const range = `10.${Math.floor(i / 256) % 256}.${i % 256}`;
  // 65,536 of them in 10.0.0.0/8.
  return {
    apiVersion: apiVersionOf(NETWORKS),
    kind: NETWORKS.kind,
    metadata: { namespace: NAMESPACE, name: `network-${i}` },
    spec: { cidr: `${range}.0/24`, gateway: `${range}.1` },
  } as Network;
}

/** Does it for each number from `from` up to but not including `to`, so many at once. */
export async function eachAtOnce(
  from: number,
  to: number,
  atOnce: number,
  work: (i: number) => Promise<void>,
): Promise<void> {
  let next = from;
  const worker = async () => {
    while (next < to) await work(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

const isReady = ({ status }: KubeObject & { status?: Network['status'] }) =>
  conditionOf(status?.conditions, 'Ready')?.status === 'True';

/** Of many Networks, no more than is looked at. */
function readinessOnly({
  metadata: { namespace, name, uid, resourceVersion },
  spec,
  status,
}: Network): Network {
  return { metadata: { namespace, name, uid, resourceVersion }, spec, status } as Network;
}
