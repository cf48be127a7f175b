import type { KubeObject } from '../../kube/api/object.ts';
import type { Lister } from '../../kube/cache/store.ts';
import type { Clock } from '../../kube/workqueue/clock.ts';
import type { AgentPod } from './node-report.ts';

/** The pod of an agent that is not there. */
export interface MissingPod {
  readonly name: string;
  /** Whether it was missing for longer than a DaemonSet takes to replace a pod. */
  readonly isGone: boolean;
}

interface Missing {
  readonly name: string;
  readonly sinceMs: number;
  isGone: boolean;
}

/** How long a rollout of the DaemonSet may take to replace the pod of a node. */
export const REPLACED_WITHIN_MS = 60_000;

/** Which agents are gone: the pods that their reports name are not there. A report outlives its agent. */
export class AgentPods {
  readonly #pods: Pick<Lister<KubeObject>, 'get'>;
  readonly #namespace: string;
  readonly #clock: Pick<Clock, 'now'>;
  /** By the name of the node. */
  readonly #missing = new Map<string, Missing>();

  /** `pods` are those in the namespace that have not ended. */
  constructor(pods: Pick<Lister<KubeObject>, 'get'>, namespace: string, clock: Pick<Clock, 'now'>) {
    this.#pods = pods;
    this.#namespace = namespace;
    this.#clock = clock;
  }

  /** The pod that the node lacks, if any. */
  missing(node: string): MissingPod | undefined {
    return this.#missing.get(node);
  }

  /**
   * Looks for the pod that the report of the node names; undefined without a report, or if it names none.
   * @returns Whether the node lacked a pod, and does not any more.
   */
  look(node: string, pod: AgentPod | undefined): boolean {
    if (!pod || this.#pods.get(`${this.#namespace}/${pod.name}`)?.metadata.uid === pod.uid) {
      return this.#missing.delete(node);
    }
    if (!this.#missing.has(node)) {
      this.#missing.set(node, { name: pod.name, sinceMs: this.#clock.now(), isGone: false });
    }
    return false;
  }

  /** The nodes whose agents were found to be gone since the last call. */
  newlyGone(): readonly string[] {
    const now = this.#clock.now();
    const gone: string[] = [];
    for (const [node, missing] of this.#missing) {
      if (missing.isGone || now - missing.sinceMs < REPLACED_WITHIN_MS) continue;
      missing.isGone = true;
      gone.push(node);
    }
    return gone;
  }
}
