import { PODS } from '../../../src/kube/api/core-resources.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import { SteadyLoad } from './steady-load.ts';

/** Never lifted: a pod with it is admitted as any other, and costs neither the scheduler nor a kubelet anything. */
const GATE = { name: 'example.com/never' };

/** The spec of a pod that is not to run. */
export const IDLE_SPEC = {
  schedulingGates: [GATE],
  containers: [{ name: 'app', image: 'busybox', command: ['sleep', '3600'] }],
};

/** An override, by which a pod is the webhook's: the API server's own policies (docs/operations.md) leave it alone. */
export const FOR_THE_WEBHOOK = { 'initializer.kubernetes.io/envoy-cpu-request': '50m' };

export const OPTED_IN = { 'initializer.kubernetes.io/envoy': 'true' };

/** A pod that was refused: when, on the clock of performance.now(), and in which words. */
export interface Refusal {
  readonly at: number;
  readonly message: string;
}

/** Pods that opt in and only the webhook can inject, created at a steady rate, whatever becomes of those before. */
export class AdmissionLoad {
  admitted = 0;
  slowestMs = 0;
  /** Names of pods that were admitted with no sidecar. */
  readonly bare: string[] = [];
  readonly refusals: Refusal[] = [];
  readonly #client: KubeClient;
  readonly #namespace: string;
  readonly #load: SteadyLoad;

  constructor(client: KubeClient, namespace: string, perSecond = 10) {
    this.#client = client;
    this.#namespace = namespace;
    this.#load = new SteadyLoad(perSecond, () => this.#createOne());
  }

  start(): void {
    this.#load.start();
  }

  /** Resolves once the last pod is answered for. */
  async stop(): Promise<void> {
    await this.#load.stop();
  }

  /** As for a test's log. */
  summary(): string {
    const { admitted, refusals, bare, slowestMs } = this;
    const slowest = `the slowest took ${Math.round(slowestMs)} ms`;
    return `${admitted} pods admitted (${slowest}), ${refusals.length} refused, ${bare.length} without a sidecar`;
  }

  async #createOne(): Promise<void> {
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        generateName: 'pod-',
        namespace: this.#namespace,
        labels: OPTED_IN,
        annotations: FOR_THE_WEBHOOK,
      },
      spec: IDLE_SPEC,
    };
    const at = performance.now();
    try {
      const { metadata, ...rest } = await this.#client.create(PODS, pod);
      this.admitted += 1;
      this.slowestMs = Math.max(this.slowestMs, performance.now() - at);
      if (!hasSidecar(rest)) this.bare.push(metadata.name);
    } catch (error) {
      this.refusals.push({ at, message: error instanceof Error ? error.message : String(error) });
    }
  }
}

export function hasSidecar(pod: object): boolean {
  const { spec } = pod as { readonly spec?: { readonly containers: readonly { readonly name: string }[] } };
  return spec?.containers.some(({ name }) => name === 'envoy') ?? false;
}
