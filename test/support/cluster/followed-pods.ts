import { LIVE_PODS, PODS } from '../../../src/kube/api/core-resources.ts';
import type { KubeObject } from '../../../src/kube/api/object.ts';
import { decodeObject, type Resource } from '../../../src/kube/api/resource.ts';
import { Informer } from '../../../src/kube/cache/informer.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import { systemClock } from '../../../src/kube/workqueue/clock.ts';

/** core/v1 Pod, as far as it is looked at. */
export interface RunningPod extends KubeObject {
  readonly spec: { readonly containers: readonly { readonly name: string }[] };
  readonly status: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

const RUNNING_PODS: Resource<RunningPod> = { ...PODS, decode: (value) => decodeObject(value) as RunningPod };

/** Whether a PodDisruptionBudget counts it: it is ready, and not on its way out. */
export function isHealthy({ metadata, status }: RunningPod): boolean {
  const isReady = status.conditions?.some(
    (condition) => condition.type === 'Ready' && condition.status === 'True',
  );
  return metadata.deletionTimestamp === undefined && isReady === true;
}

/** The pods of a namespace with some label, followed by a watch: nothing that they go through in between is missed. */
export class FollowedPods {
  /** The fewest that were healthy at a time, since it was last set. */
  fewestHealthy = Number.POSITIVE_INFINITY;
  readonly #informer: Informer<RunningPod>;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  readonly #waiting = new Set<() => void>();

  constructor(client: KubeClient, namespace: string, labelSelector: string) {
    this.#informer = new Informer({
      client,
      clock: systemClock,
      resource: RUNNING_PODS,
      namespace,
      labelSelector,
      fieldSelector: LIVE_PODS,
      onError: (error) => process.stderr.write(`      following pods: ${error}\n`),
    });
    const look = () => this.#look();
    this.#informer.addEventHandler({ onAdd: look, onUpdate: look, onDelete: look });
    this.#running = this.#informer.run(this.#stop.signal);
  }

  get all(): readonly RunningPod[] {
    return this.#informer.lister.list();
  }

  /** Resolves once the pods are as they should be; rejects after so long, saying how many were healthy by then. */
  async until(
    what: string,
    condition: (pods: readonly RunningPod[]) => boolean,
    seconds = 180,
  ): Promise<void> {
    const found = new Promise<void>((resolve) => {
      this.#waiting.add(() => condition(this.all) && resolve());
    });
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const healthy = () => `${this.all.filter(isHealthy).length} of ${this.all.length} are healthy`;
      timer = setTimeout(
        () => reject(new Error(`waited ${seconds} s in vain until ${what}: ${healthy()}`)),
        seconds * 1000,
      );
    });
    this.#look();
    await Promise.race([found, late]).finally(() => clearTimeout(timer));
    this.#waiting.clear();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  #look(): void {
    this.fewestHealthy = Math.min(this.fewestHealthy, this.all.filter(isHealthy).length);
    for (const check of this.#waiting) check();
  }
}
