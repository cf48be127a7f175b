import { ROLLOUT_ANNOTATION } from '../../../injection/keys.ts';
import type { NamespaceSettings } from '../../../injection/namespace-settings.ts';
import type { Status } from '../../../injection/status.ts';
import type { PodShare, Strategy } from '../../../injection/template/strategy.ts';
import { type TemplateSet, templatesNamed } from '../../../injection/template/template-set.ts';
import type { Revision } from './revision.ts';

/** A pod as a rollout sees it: what can be read of its metadata and its status. Times are milliseconds since 1970. */
export interface RolloutPod {
  /** `namespace/name`. */
  readonly key: string;
  readonly uid: string;
  /** The settings of its namespace. */
  readonly namespace: NamespaceSettings;
  /** Its annotation that selects templates. */
  readonly selects: string | undefined;
  /** Its controller, and the name of the workload that has created that one, such as the Deployment of a ReplicaSet. */
  readonly owner:
    | { readonly uid: string; readonly kind: string; readonly creator?: string | undefined }
    | undefined;
  /** Its node; empty until it is scheduled. */
  readonly node: string;
  readonly createdAt: number;
  /** Whether it is being deleted, or has gone and is missed. */
  readonly isGoing: boolean;
  /** Its condition Ready; `unknown` if its node does not answer. */
  readonly ready: boolean | 'unknown';
  /** Since when the condition Ready has that value. */
  readonly readySince: number;
  /** Whether all containers of the sidecar are ready. */
  readonly isSidecarReady: boolean;
  /** Since when all containers of the sidecar run; undefined if one does not. */
  readonly sidecarStartedAt: number | undefined;
  /** When a rollout changed it in place; undefined if none did. Its user can write any time into its annotation. */
  readonly changedAt: number | undefined;
  /** Whether it may have been created in the place of a pod that a rollout evicted. */
  readonly isReplacement: boolean;
  /** When a rollout may have evicted it; undefined once its replacement is seen. */
  readonly evictedAt: number | undefined;
  /** Until when its workload misses it, unless its replacement is seen before. */
  readonly missedUntil: number | undefined;
  /** The parsed status annotation; undefined for a pod without a sidecar. */
  readonly status: Status | undefined;
  /** Whether its sidecar reads a configuration that has changed since it started. */
  readonly isConfigStale: boolean;
  /** Whether a label or annotation of the pod keeps rollouts away from it. */
  readonly isOptedOut: boolean;
  /** Whether its restart policy is not `Always`: no sidecar that ends is started again, and it may be a job of any kind. */
  readonly endsByItself: boolean;
  /** Whether its annotation `drain` is set. */
  readonly isDraining: boolean;
  /** Whether a rollout may have set it: users can, too. */
  readonly isDrainOurs: boolean;
  /** Since when the annotation is known to be set. */
  readonly drainingSince: number | undefined;
  /** When it is known to have been removed. */
  readonly undrainedAt: number | undefined;
  /** Whether the sidecar runs again after its last change, if that restarted it. */
  readonly isRestarted: boolean;
  /** Since when it has been out of its Services, or could not be drained; undefined before that. */
  readonly drainedSince: number | undefined;
  /** What the kubelet says where a container of the sidecar cannot run or has ended, such as `ErrImagePull: …`. */
  readonly trouble: string | undefined;
  /** What only a read of the whole pod, or the API server, could tell. */
  readonly verdict: PodVerdict | undefined;
  /** Why its disruption is not allowed, since when, and until when not to ask again. */
  readonly blocked: { readonly until: number; readonly since: number; readonly why: string } | undefined;
}

/** The pods of one controller, or of all controllers that one workload has created, such as the ReplicaSets of a Deployment. */
export interface Workload {
  readonly key: string;
  /** Pods that are not being deleted. */
  replicas: number;
  /** Pods that do not serve: not Ready, being deleted, drained, or changed a moment ago. */
  busy: number;
  /** When the rollout changed or replaced one of its pods last. */
  madeAt: number;
  /** Pods that have been changed in this rollout. */
  changed: number;
}

/** A pod that may be changed now. */
export interface Candidate {
  readonly pod: RolloutPod;
  readonly how: 'change' | 'evict';
  readonly workload: Workload;
}

export function namespaceOf(key: string): string {
  return key.slice(0, key.indexOf('/'));
}

/** An owner is in the namespace of its pods. A pod that names an owner of another namespace does not join its workload. */
export function workloadKey({ key, owner, uid }: Pick<RolloutPod, 'key' | 'owner' | 'uid'>): string {
  const workload = owner?.creator === undefined ? (owner?.uid ?? uid) : `${owner.kind} ${owner.creator}`;
  return `${namespaceOf(key)}/${workload}`;
}

/** How many more pods of a workload may stop serving. Percentages are rounded up, so that it is at least one pod. */
export function freeIn({ replicas, busy }: Pick<Workload, 'replicas' | 'busy'>, share: PodShare): number {
  const most = 'count' in share ? share.count : Math.max(1, Math.ceil((share.percent * replicas) / 100));
  return most - busy;
}

/** What a rollout has made of a pod. */
export type Made = Pick<
  RolloutPod,
  'changedAt' | 'isReplacement' | 'evictedAt' | 'missedUntil' | 'isDrainOurs'
>;
/** What a rollout has found out about a pod. */
export type FoundOut = Pick<
  RolloutPod,
  'drainingSince' | 'undrainedAt' | 'drainedSince' | 'verdict' | 'blocked'
>;

/** Why a pod cannot be changed in place, or at all. */
export interface PodVerdict {
  readonly how: 'replace' | 'refused';
  readonly why: string;
  /** When it is worth another try: what refused it may allow it then. Absent: never. */
  readonly until?: number;
}

/** What to do with a pod next. */
export interface Action {
  /**
   * `drain`: take it out of its Services. `change`: patch it in place. `evict`: have its controller replace it.
   * `undrain`: put it back, unchanged.
   */
  readonly do: 'drain' | 'change' | 'evict' | 'undrain';
  readonly pod: RolloutPod;
  /** The templates that it gets. */
  readonly to: Pick<Revision, 'set'>;
}

/** Why a pod that does not have the target yet is not changed now, or at all. */
export const REASONS = {
  'opted-out': 'the pod or its namespace opts out with `initializer.kubernetes.io/rollout: "false"`',
  'no-controller': 'must be replaced, but has no controller to recreate it',
  job: 'runs to completion: belongs to a Job, or its `restartPolicy` is not `Always`',
  'single-replica': 'only pod of its workload: set `singleReplica: change`, or restart the workload',
  'not-in-place': 'must be replaced, but `mode: in-place` evicts no pods',
  'unknown-template': 'selects a template that does not exist',
  refused: 'the new template does not fit the pod, or the API server refuses the change',
  paused: 'the rollout is paused',
  halted: 'the breaker has stopped the rollout',
  canary: 'waiting for the canary',
  hold: 'the canary is healthy, but `canary.hold` is not over',
  unproven: 'waiting for the changed pods to settle',
  rate: '`perMinute` allows no more pods in this minute',
  workload: '`maxUnavailable` of the workload is used up for now',
  budget: 'disruption not allowed now',
  node: 'node does not respond',
  unready:
    'has the new template but is not Ready, so it counts neither as healthy nor as failed: repair it, delete it, or opt it out',
} as const;

export type Reason = keyof typeof REASONS;

/** `left`: a user must act. `waiting`: its turn will come. */
export const POD_STATES = ['current', 'under-way', 'waiting', 'left', 'refused'] as const;

/** The state of a pod in a rollout. */
export interface PodState {
  readonly pod: RolloutPod;
  readonly is: (typeof POD_STATES)[number];
  readonly why?: Reason | undefined;
  /** Further words, if any. */
  readonly message?: string | undefined;
}

/**
 * How the sidecar of a pod relates to a template set, by its metadata alone: it has the templates; it can get them in
 * place; its parts have another shape, or its status does not say which; or it selects a template that does not exist.
 */
export type Relation = 'current' | 'in-place' | 'replace' | 'unknown-template';

export function relate(
  { templates: applied }: Pick<Status, 'templates'>,
  selects: string | undefined,
  namespace: NamespaceSettings,
  set: TemplateSet,
): Relation {
  const { templates, unknownTemplates } = templatesNamed(selects, namespace, { set });
  if (unknownTemplates.length > 0) return 'unknown-template';
  if (applied.length !== templates.length) return 'replace';
  if (templates.every(({ name, hash }, i) => applied[i]?.name === name && applied[i].sha256 === hash))
    return 'current';
  const sameShape = templates.every(
    ({ name, shape }, i) => applied[i]?.name === name && applied[i].shape === shape,
  );
  return sameShape ? 'in-place' : 'replace';
}

/** What has to happen to a pod, apart from whose turn it is. */
export type Standing =
  | { readonly is: 'current' }
  | { readonly is: 'candidate'; readonly how: 'change' | 'evict' }
  | { readonly is: 'left' | 'refused'; readonly why: Reason; readonly message?: string };

/** A pod of which only metadata may be known. */
export type MetadataPod = Pick<RolloutPod, 'namespace' | 'selects' | 'owner' | 'isOptedOut'> &
  Partial<Pick<RolloutPod, 'ready' | 'verdict' | 'isConfigStale' | 'endsByItself'>>;

/** Whether the pod or its namespace keeps rollouts away. */
export function isOptedOut(pod: Pick<RolloutPod, 'isOptedOut' | 'namespace'>): boolean {
  return pod.isOptedOut || pod.namespace.namespaceLabels[ROLLOUT_ANNOTATION] === 'false';
}

/**
 * The rules for what may happen to a pod with a sidecar: one place for the forecast, the rollout and its status.
 * `replicas`: the pods of its workload that are not being deleted.
 */
export function standingOf(
  pod: MetadataPod,
  status: Status,
  set: TemplateSet,
  strategy: Pick<Strategy, 'mode' | 'singleReplica'>,
  replicas: number,
): Standing {
  const relation = relate(status, pod.selects, pod.namespace, set);
  const { verdict } = pod;
  if (relation === 'current' && !pod.isConfigStale) return { is: 'current' };
  if (relation === 'unknown-template') return { is: 'refused', why: 'unknown-template' };
  if (isOptedOut(pod)) return { is: 'left', why: 'opted-out' };
  if (pod.owner?.kind === 'Job' || pod.endsByItself) return { is: 'left', why: 'job' };
  if (verdict?.how === 'refused') return { is: 'refused', why: 'refused', message: verdict.why };
  const isReplaced = relation === 'replace' || verdict !== undefined;
  const message = verdict && { message: verdict.why };
  if (isReplaced && strategy.mode !== 'in-place-or-replace')
    return { is: 'left', why: 'not-in-place', ...message };
  if (isReplaced && pod.owner === undefined) return { is: 'left', why: 'no-controller', ...message };
  // A pod that serves nothing now has nothing to lose.
  if (replicas <= 1 && strategy.singleReplica === 'leave' && pod.ready !== false)
    return { is: 'left', why: 'single-replica' };
  return { is: 'candidate', how: isReplaced ? 'evict' : 'change' };
}
