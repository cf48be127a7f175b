import type { Status } from '../../../injection/status.ts';
import type { Strategy } from '../../../injection/template/strategy.ts';
import type { TemplateSet } from '../../../injection/template/template-set.ts';
import type { Reason } from './pod.ts';
import { type MetadataPod, standingOf } from './standing.ts';
import { workloadKey } from './workloads.ts';

/** A pod with a sidecar, for a forecast. */
export interface ForecastPod extends MetadataPod {
  /** `namespace/name`. */
  readonly key: string;
  readonly uid: string;
  readonly status: Status;
  /** Its workload as users see it, such as `shop/ReplicaSet/web-5d8`. */
  readonly workload: string;
}

/** What a new template means for pods. */
export interface Outlook {
  readonly pods: number;
  readonly current: number;
  /** The sidecar alone is changed. */
  readonly inPlace: number;
  /** The pod is evicted, and its controller creates another one. */
  readonly replaced: number;
  /** Left alone, by reason. */
  readonly left: Readonly<Partial<Record<Reason, number>>>;
  /** Pods that the template does not fit. */
  readonly refused: number;
}

/** The outlook of one workload. */
export interface WorkloadOutlook extends Outlook {
  readonly workload: string;
  /** Why pods are replaced, left or refused, in words. */
  readonly why: readonly string[];
}

export interface Forecast {
  /** In the order of their names. */
  readonly workloads: readonly WorkloadOutlook[];
  readonly total: Outlook;
}

interface Count {
  pods: number;
  current: number;
  inPlace: number;
  replaced: number;
  left: Partial<Record<Reason, number>>;
  refused: number;
}

/** What a rollout of a template set would do to these pods, by the rules of the rollout itself. */
export function forecast(
  pods: readonly ForecastPod[],
  set: TemplateSet,
  strategy: Pick<Strategy, 'mode' | 'singleReplica'>,
): Forecast {
  const replicas = new Map<string, number>();
  for (const pod of pods) replicas.set(workloadKey(pod), (replicas.get(workloadKey(pod)) ?? 0) + 1);
  const total = nothing();
  const workloads = new Map<string, Count & { readonly why: Set<string> }>();
  for (const pod of pods) {
    const workload = workloads.get(pod.workload) ?? { ...nothing(), why: new Set<string>() };
    workloads.set(pod.workload, workload);
    const standing = standingOf(pod, pod.status, {
      set,
      strategy,
      replicas: replicas.get(workloadKey(pod)) ?? 1,
    });
    const words = pod.verdict?.why ?? ('message' in standing ? standing.message : undefined);
    if (words !== undefined && standing.is !== 'current') workload.why.add(words);
    for (const count of [total, workload]) {
      count.pods += 1;
      if (standing.is === 'current') count.current += 1;
      else if (standing.is === 'candidate') count[standing.how === 'evict' ? 'replaced' : 'inPlace'] += 1;
      else if (standing.is === 'refused') count.refused += 1;
      else count.left[standing.why] = (count.left[standing.why] ?? 0) + 1;
    }
  }
  return {
    total,
    workloads: [...workloads]
      .map(([workload, { why, ...count }]) => ({ ...count, workload, why: [...why] }))
      .toSorted((a, b) => (a.workload < b.workload ? -1 : 1)),
  };
}

function nothing(): Count {
  return { pods: 0, current: 0, inPlace: 0, replaced: 0, left: {}, refused: 0 };
}

/** The outlook in one line, such as `of 12 pods with a sidecar, 10 change in place, 2 are left (single-replica)`. */
export function outlookLine({ pods, current, inPlace, replaced, left, refused }: Outlook): string {
  const reasons = Object.entries(left);
  const parts = [
    [inPlace, 'in place'],
    [replaced, 'by replacement'],
    [refused, 'refused'],
    [
      reasons.reduce((sum, [, count]) => sum + count, 0),
      `left alone (${reasons.map(([reason, count]) => `${reason} ${count}`).join(', ')})`,
    ],
    [current, 'current'],
  ] as const;
  const said = parts.flatMap(([count, words]) => (count > 0 ? [`${count} ${words}`] : []));
  return `${pods} ${pods === 1 ? 'pod' : 'pods'} with a sidecar${said.length > 0 ? `: ${said.join(', ')}` : ''}`;
}
