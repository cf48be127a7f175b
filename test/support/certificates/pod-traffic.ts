import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { KubeObject } from '../../../src/kube/api/object.ts';
import { decodeObject, type Resource } from '../../../src/kube/api/resource.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';

const PODS: Resource<KubeObject> = {
  group: '',
  version: 'v1',
  kind: 'Pod',
  plural: 'pods',
  namespaced: true,
  decode: decodeObject,
};

/** A Service, as kube-proxy makes one: each connection goes to the next of its endpoints. */
export class RoundRobin {
  readonly #server: Server;
  connections = 0;

  constructor(endpoints: () => readonly number[]) {
    this.#server = createServer((socket) => {
      const ports = endpoints();
      const backend = connect(ports[this.connections % ports.length] ?? 0, '127.0.0.1');
      this.connections += 1;
      // An end that goes away takes the other with it; what it means is for the API server to say.
      socket.on('error', () => backend.destroy()).pipe(backend);
      backend.on('error', () => socket.destroy()).pipe(socket);
    });
  }

  async listen(): Promise<number> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.close();
  }
}

/** As many pods are on their way at once. */
const LOOPS = [1, 2, 3];
/** The machine is shared with others. */
const PAUSE_MS = 10;

/** Pods, one after the other, each to be admitted by the stage's webhooks. They are dry runs: nothing is left behind. */
export class PodTraffic {
  admitted = 0;
  readonly refusals: string[] = [];
  readonly #client: KubeClient;
  readonly #stage: string;
  readonly #stop = new AbortController();
  readonly #calls = new Set<Promise<unknown>>();
  #running: Promise<unknown> = Promise.resolve();

  constructor(client: KubeClient, stage: string) {
    this.#client = client;
    this.#stage = stage;
  }

  /** Resolves with why a pod is refused just now; undefined when it is admitted. */
  async createOne(): Promise<string | undefined> {
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { generateName: 'pod-', namespace: 'default', labels: { stage: this.#stage } },
      spec: { containers: [{ name: 'app', image: 'busybox' }] },
    };
    try {
      await this.#client.create(PODS, pod, { dryRun: true });
      return undefined;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  start(): void {
    this.#running = Promise.all(LOOPS.map(() => this.#run()));
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** Resolves when the pods that are on their way now have been admitted or refused. */
  async answered(): Promise<void> {
    await Promise.all(this.#calls);
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const call = this.createOne();
      this.#calls.add(call);
      const refusal = await call;
      this.#calls.delete(call);
      if (refusal === undefined) this.admitted += 1;
      else this.refusals.push(`${new Date().toISOString()} ${refusal}`);
      await delay(PAUSE_MS);
    }
  }
}
