import { PODS } from '../../../src/kube/api/core-resources.ts';
import { type KubeObject, keyOf } from '../../../src/kube/api/object.ts';
import { decodeObject, type Resource } from '../../../src/kube/api/resource.ts';
import { Informer } from '../../../src/kube/cache/informer.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import { systemClock } from '../../../src/kube/workqueue/clock.ts';
import type { JsonObject } from '../../../src/util/json.ts';

const DRAIN = 'initializer.kubernetes.io/drain';
/** Calls at the same time. */
const PARALLEL = 24;

/** A pod, as far as its kubelet looks at it. */
interface KubeletPod extends KubeObject {
  readonly spec: {
    readonly containers: readonly { readonly name: string; readonly image: string }[];
  };
  readonly status: { readonly containerStatuses?: readonly ContainerStatus[] };
}

interface ContainerStatus {
  readonly name: string;
  readonly image: string;
  readonly ready: boolean;
  readonly restartCount: number;
}

const KUBELET_PODS: Resource<KubeletPod> = { ...PODS, decode: (value) => decodeObject(value) as KubeletPod };

/**
 * The kubelet of all pods of a control plane without nodes, as far as a rollout sees it: it starts containers, restarts
 * those whose image changes, and is told by the drain's annotation what a readiness probe would tell it. It counts how
 * many pods of each workload are not Ready.
 */
export class SimulatedKubelet {
  /** The most pods of a workload that were not Ready at a time, since all were Ready. */
  mostUnready = 0;
  /** Images that cannot be pulled. */
  readonly #broken: (image: string) => boolean;
  readonly #client: KubeClient;
  readonly #informer: Informer<KubeletPod>;
  readonly #dirty = new Set<string>();
  readonly #busy = new Set<string>();
  readonly #unready = new Map<string, Set<string>>();
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  #failure: unknown;

  constructor(client: KubeClient, broken: (image: string) => boolean = () => false) {
    this.#client = client;
    this.#broken = broken;
    this.#informer = new Informer({
      client,
      clock: systemClock,
      resource: KUBELET_PODS,
      onError: (error) => process.stderr.write(`      the kubelet: ${error}\n`),
    });
    const look = (pod: KubeletPod) => {
      this.#dirty.add(keyOf(pod));
      this.#work();
    };
    this.#informer.addEventHandler({ onAdd: look, onUpdate: (_, pod) => look(pod) });
    this.#running = this.#informer.run(this.#stop.signal);
  }

  get pods(): readonly KubeletPod[] {
    return this.#informer.lister.list();
  }

  /** @throws the first error of a call. */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  #work(): void {
    for (const key of this.#dirty) {
      if (this.#busy.size >= PARALLEL) return;
      if (this.#busy.has(key)) continue;
      this.#dirty.delete(key);
      const pod = this.#informer.lister.get(key);
      const status = pod && this.#statusOf(pod);
      if (!pod || !status) continue;
      this.#busy.add(key);
      this.#write(pod, status)
        .catch((err: unknown) => {
          if (!this.#stop.signal.aborted) this.#failure ??= err;
        })
        .finally(() => {
          this.#busy.delete(key);
          this.#work();
        });
    }
  }

  async #write({ metadata }: KubeletPod, status: JsonObject): Promise<void> {
    const { namespace, name, uid } = metadata;
    const patch = { metadata: { uid }, status };
    const options = { subresource: 'status', signal: this.#stop.signal };
    await this.#client.mergePatch(PODS, { namespace, name }, patch, options);
  }

  /** The status that the pod should have; undefined if it has it. */
  #statusOf({ metadata, spec, status }: KubeletPod): JsonObject | undefined {
    const before = new Map((status.containerStatuses ?? []).map((each) => [each.name, each]));
    const isDrained = metadata.annotations?.[DRAIN] !== undefined;
    const containers = spec.containers.map(({ name, image }) => {
      const old = before.get(name);
      const isBroken = this.#broken(image);
      return {
        name,
        image,
        imageID: image,
        resources: {},
        ready: !isBroken && !(name === 'envoy' && isDrained),
        restartCount: (old?.restartCount ?? 0) + (old && old.image !== image ? 1 : 0),
        state: isBroken
          ? { waiting: { reason: 'ErrImagePull', message: `${image} does not exist` } }
          : { running: { startedAt: new Date(0).toISOString().replace('.000', '') } },
      };
    });
    const isReady = containers.every(({ ready }) => ready);
    this.#count(metadata, isReady);
    const isSame = containers.every(({ name, image, ready }) => {
      const old = before.get(name);
      return old?.image === image && old.ready === ready;
    });
    if (isSame) return undefined;
    const at = new Date().toISOString().replace(/\.\d+/, '');
    return {
      phase: 'Running',
      containerStatuses: containers,
      conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False', lastTransitionTime: at }],
    };
  }

  #count({ uid = '', ownerReferences = [] }: KubeObject['metadata'], isReady: boolean): void {
    const owner = ownerReferences[0]?.uid ?? '';
    const unready = this.#unready.get(owner) ?? new Set();
    this.#unready.set(owner, unready);
    if (isReady) unready.delete(uid);
    else unready.add(uid);
    this.mostUnready = Math.max(this.mostUnready, unready.size);
  }
}
