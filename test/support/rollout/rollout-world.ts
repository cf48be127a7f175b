import type { Action, RolloutPod } from '../../../src/addons/rollout/plan/pod.ts';
import {
  type Decision,
  type Revisions,
  revisionsOf,
  type StoredRevision,
  upkeepOf,
} from '../../../src/addons/rollout/plan/revision.ts';
import { type Step, step } from '../../../src/addons/rollout/plan/step.ts';
import { appliedTemplate, type Status } from '../../../src/injection/status.ts';
import { isCanary, parseStrategy, type Strategy } from '../../../src/injection/template/strategy.ts';
import type { TemplateSet } from '../../../src/injection/template/template-set.ts';
import { templateSet } from '../injection/demo.ts';

/** What a sidecar of a template does when it starts. */
export type Behaviour = 'runs' | 'cannot be pulled' | 'is never ready';

/** A template set for a rollout world: `image` alone differs in place, `args` make another shape. */
export function setOf(image: string, args = '[]'): TemplateSet {
  return templateSet({ config: `containers: [{name: envoy, image: "${image}", args: ${args}}]` });
}

export function strategyOf(text: string): Strategy {
  const parsed = parseStrategy('rollout', text);
  if ('faults' in parsed) throw new Error(JSON.stringify(parsed.faults));
  return parsed.strategy;
}

/** A pod of the world: what the API server and the kubelet have of it. */
export interface WorldPod {
  readonly key: string;
  readonly uid: string;
  readonly workload: string;
  readonly node: string;
  readonly createdAt: number;
  status: Status;
  /** When it was evicted. */
  going: number | undefined;
  draining: boolean;
  /** Whether the container of the current template runs, and has been told so by the probe. */
  ready: boolean;
  readySince: number;
  /** Since when the kubelet has had to start a container; undefined when it has. */
  startsSince: number | undefined;
  broken: string | undefined;
}

export interface WorldOptions {
  /** UIDs of controllers with the number of their pods. */
  readonly workloads: readonly { readonly uid: string; readonly replicas: number }[];
  readonly first: TemplateSet;
  readonly strategy: Strategy;
  readonly behaviour: (set: TemplateSet, pod: WorldPod) => Behaviour;
  /** From 0 to 1, as Math.random. */
  readonly random: () => number;
}

/** A cluster with a rollout: an API server, kubelets and controllers of workloads, as a model without I/O. */
export class RolloutWorld {
  now = 1_000_000_000;
  readonly pods = new Map<string, WorldPod>();
  /** Every write of the operator to a pod. */
  readonly writes: { readonly action: Action['do']; readonly key: string; readonly at: number }[] = [];
  adopted: TemplateSet;
  paused = false;
  stored: StoredRevision[] = [];
  readonly #options: WorldOptions;
  /** What the operator keeps in memory only. */
  #drainedSince = new Map<string, number>();
  #count = 0;

  constructor(options: WorldOptions) {
    this.#options = options;
    this.adopted = options.first;
    for (const { uid, replicas } of options.workloads) {
      for (let i = 0; i < replicas; i += 1) this.#create(uid, options.first, true);
    }
    this.keepHistory();
    this.now += 1;
  }

  get strategy(): Strategy {
    return this.#options.strategy;
  }

  get revisions(): Revisions {
    const revisions = revisionsOf(this.adopted, this.stored, this.paused);
    if (!revisions) throw new Error('expected a promoted revision');
    return revisions;
  }

  /** The writes of the leader that need no step. */
  keepHistory(): void {
    for (const upkeep of upkeepOf(this.adopted, this.stored, true, () => true)) {
      if (upkeep.do === 'promote') this.#store('promoted', this.now, { namespaces: undefined, percent: 0 });
      else
        this.stored = this.stored.flatMap((each) => {
          if (each.name !== upkeep.name) return [each];
          return upkeep.do === 'delete' ? [] : [{ ...each, state: 'superseded' as const }];
        });
    }
  }

  /** The operator ends and starts again. */
  restart(): void {
    this.#drainedSince = new Map();
  }

  view(): readonly RolloutPod[] {
    return [...this.pods.values()].map((pod) => this.#view(pod));
  }

  step(): Step {
    return step(this.view(), this.revisions, this.strategy, this.now);
  }

  /** Writes an action, as its actuator does. */
  act({ do: what, pod: { key } }: Action): void {
    const pod = this.pods.get(key);
    if (!pod || pod.going !== undefined) return;
    this.writes.push({ action: what, key, at: this.now });
    const { target, promoted } = this.revisions;
    const to = target.state === 'halted' ? promoted : target;
    if (what === 'drain') pod.draining = true;
    else if (what === 'undrain') pod.draining = false;
    else if (what === 'evict') pod.going = this.now;
    else {
      const wasReady = pod.ready || (pod.draining && pod.broken === undefined);
      const at = new Date(this.now).toISOString();
      pod.status = { ...statusOf(to.set), at, wasReady };
      pod.startsSince = this.now;
      pod.broken = undefined;
      this.#setReady(pod, false);
    }
  }

  decide(decision: Decision): void {
    const { state, canary, since } = this.revisions.target;
    if (decision.do === 'begin') this.#store('canary', state === 'new' ? this.now : since, decision.canary);
    else if (decision.do === 'hold') this.#store('canary', since, canary, this.now);
    else this.#store(decision.do === 'promote' ? 'promoted' : 'halted', since, canary);
  }

  /** One kubelet or controller does what it has to do for one pod. Returns whether there was anything. */
  progress(pod: WorldPod): boolean {
    if (pod.going !== undefined) {
      this.pods.delete(pod.key);
      const { target, promoted } = this.revisions;
      const inCanary = isCanary(target.canary, {}, pod.workload);
      const isTarget = target.state === 'promoted' || (target.state === 'canary' && inCanary);
      this.#create(pod.workload, (isTarget ? target : promoted).set, false);
      return true;
    }
    if (pod.startsSince !== undefined) {
      const set = [this.adopted, ...this.stored.map((each) => each.set)].find((each) => has(pod, each));
      const behaviour = this.#options.behaviour(set ?? this.adopted, pod);
      pod.startsSince = undefined;
      if (behaviour === 'cannot be pulled') pod.broken = 'ErrImagePull: no such image';
      else if (behaviour === 'is never ready') pod.broken = 'not ready';
      return true;
    }
    const shouldBeReady = pod.broken === undefined && !pod.draining;
    if (pod.ready === shouldBeReady) return false;
    this.#setReady(pod, shouldBeReady);
    return true;
  }

  /** Whether a kubelet or a controller has something to do for the pod. */
  isBehind(pod: WorldPod): boolean {
    const isReady = pod.broken === undefined && !pod.draining;
    return pod.going !== undefined || pod.startsSince !== undefined || pod.ready !== isReady;
  }

  has(pod: WorldPod, set: TemplateSet): boolean {
    return has(pod, set);
  }

  /** Pods of each workload that do not serve. */
  unavailable(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { workload, going, draining, ready } of this.pods.values()) {
      if (going !== undefined || draining || !ready) counts.set(workload, (counts.get(workload) ?? 0) + 1);
    }
    return counts;
  }

  #setReady(pod: WorldPod, ready: boolean): void {
    if (pod.ready === ready) return;
    pod.ready = ready;
    pod.readySince = this.now;
  }

  #store(
    state: StoredRevision['state'],
    since: number,
    canary: StoredRevision['canary'],
    heldSince?: number,
  ): void {
    const name = this.adopted.hash.slice(0, 12);
    const others = this.stored.filter((each) => each.name !== name);
    this.stored = [...others, { name, set: this.adopted, state, since, canary, heldSince }];
  }

  #create(workload: string, set: TemplateSet, ready: boolean): void {
    this.#count += 1;
    const uid = `${Math.floor(this.#options.random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0')}-${this.#count}`;
    const pod: WorldPod = {
      key: `default/pod-${this.#count}`,
      uid,
      workload,
      node: `node-${Math.floor(this.#options.random() * 5)}`,
      createdAt: this.now - (ready ? 3_600_000 : 0),
      status: statusOf(set),
      going: undefined,
      draining: false,
      ready,
      readySince: this.now - (ready ? 3_600_000 : 0),
      startsSince: ready ? undefined : this.now,
      broken: undefined,
    };
    this.pods.set(pod.key, pod);
  }

  #view(pod: WorldPod): RolloutPod {
    const isDrained = pod.draining && !pod.ready;
    if (!isDrained) this.#drainedSince.delete(pod.uid);
    else if (!this.#drainedSince.has(pod.uid)) this.#drainedSince.set(pod.uid, this.now);
    const isPulled = pod.broken === undefined || pod.broken === 'not ready';
    return {
      key: pod.key,
      uid: pod.uid,
      namespace: { namespaceLabels: {} },
      selects: undefined,
      owner: { uid: pod.workload, kind: 'ReplicaSet' },
      node: pod.node,
      createdAt: pod.createdAt,
      isGoing: pod.going !== undefined,
      evictedAt: pod.going,
      missedUntil: undefined,
      ready: pod.ready,
      readySince: pod.readySince,
      isSidecarReady: pod.broken === undefined && pod.startsSince === undefined,
      sidecarStartedAt: isPulled && pod.startsSince === undefined ? pod.readySince : undefined,
      status: pod.status,
      changedAt: pod.status.at === undefined ? undefined : Date.parse(pod.status.at),
      isReplacement: true,
      isDrainOurs: true,
      isConfigStale: false,
      isOptedOut: false,
      endsByItself: false,
      isDraining: pod.draining,
      drainingSince: undefined,
      undrainedAt: undefined,
      isRestarted: pod.startsSince === undefined,
      drainedSince: this.#drainedSince.get(pod.uid),
      trouble: isPulled ? undefined : pod.broken,
      verdict: undefined,
      blocked: undefined,
    };
  }
}

export function statusOf({ templates }: TemplateSet): Status {
  return {
    templates: [...templates.values()].map(appliedTemplate),
    added: {},
    overlaid: {},
    moved: {},
    requests: {},
  };
}

function has({ status }: WorldPod, { templates }: TemplateSet): boolean {
  return status.templates.every(({ name, sha256 }) => templates.get(name)?.hash === sha256);
}
