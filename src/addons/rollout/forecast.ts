import { type Keys, ROLLOUT_ANNOTATION } from '../../injection/keys.ts';
import type { NamespaceSettings } from '../../injection/namespace-settings.ts';
import { parseStatus, type Status } from '../../injection/status.ts';
import type { Strategy } from '../../injection/template/strategy.ts';
import type { TemplateSet } from '../../injection/template/template-set.ts';
import { controllerOf, type KubeObject, keyOf } from '../../kube/api/object.ts';
import type { Lister } from '../../kube/cache/store.ts';
import { counted } from '../../util/clip.ts';
import { type MetadataPod, type Reason, standingOf, workloadKey } from './plan/pod.ts';

/** A pod with a sidecar, for a forecast. */
export interface ForecastPod extends MetadataPod {
  /** `namespace/name`. */
  readonly key: string;
  readonly uid: string;
  readonly status: Status;
}

/** What a rollout of a template set would do to these pods, by the rules of the rollout itself. */
export function forecast(
  pods: readonly ForecastPod[],
  set: TemplateSet,
  strategy: Pick<Strategy, 'mode' | 'singleReplica'>,
) {
  const replicas = new Map<string, number>();
  for (const pod of pods) replicas.set(workloadKey(pod), (replicas.get(workloadKey(pod)) ?? 0) + 1);
  /** Left alone, by reason. */
  const left: Partial<Record<Reason, number>> = {};
  /** `inPlace`: the sidecar alone is changed. `replaced`: the controller creates another pod. `refused`: it does not fit. */
  const count = { pods: pods.length, current: 0, inPlace: 0, replaced: 0, left, refused: 0 };
  for (const pod of pods) {
    const of = replicas.get(workloadKey(pod)) ?? 1;
    const standing = standingOf(pod, pod.status, set, strategy, of);
    if (standing.is === 'current') count.current += 1;
    else if (standing.is === 'candidate') count[standing.how === 'evict' ? 'replaced' : 'inPlace'] += 1;
    else if (standing.is === 'refused') count.refused += 1;
    else left[standing.why] = (left[standing.why] ?? 0) + 1;
  }
  return count;
}

/** The outlook in one line, such as `rollout to 12 pods with a sidecar (metadata estimate): 10 in place, 2 refused`. */
export function outlookLine(counts: ReturnType<typeof forecast>): string {
  const reasons = Object.entries(counts.left);
  const left = reasons.reduce((sum, [, count]) => sum + count, 0);
  const parts = [
    [counts.inPlace, 'in place'],
    [counts.replaced, 'by replacement'],
    [counts.refused, 'refused'],
    [left, `left unchanged (${reasons.map((reason) => reason.join(' ')).join(', ')})`],
    [counts.current, 'current'],
  ] as const;
  const said = parts.flatMap(([count, words]) => (count > 0 ? [`${count} ${words}`] : []));
  return `rollout to ${counted(counts.pods, 'pod')} with a sidecar (metadata estimate)${said.length > 0 ? `: ${said.join(', ')}` : ''}`;
}

/** How long the counts of the last set are kept. */
const KEPT_MS = 2_000;

/**
 * Returns what a template set would do to running pods, in one line for its author; undefined without a strategy for
 * running pods. It counts from metadata alone. The counts of the last set are kept for a moment.
 */
export function forecastWarning(
  pods: Pick<Lister<KubeObject>, 'list'>,
  namespaceSettings: (namespace: string) => NamespaceSettings,
  keys: Keys,
): (set: TemplateSet) => string | undefined {
  function podsNow(): readonly ForecastPod[] {
    // Many pods have the same status.
    const parsed = new Map<string, Status | undefined>();
    return pods.list().flatMap(({ metadata }) => {
      const { uid = '', namespace = '', labels, annotations, deletionTimestamp } = metadata;
      const text = annotations?.[keys.status];
      if (text === undefined || deletionTimestamp !== undefined) return [];
      if (!parsed.has(text)) parsed.set(text, parseStatus(text));
      const status = parsed.get(text);
      if (status === undefined) return [];
      const owner = controllerOf({ metadata });
      return {
        key: keyOf({ metadata }),
        uid,
        status,
        owner,
        namespace: namespaceSettings(namespace),
        selects: annotations?.[keys.templates],
        isOptedOut: [labels?.[ROLLOUT_ANNOTATION], annotations?.[ROLLOUT_ANNOTATION]].includes('false'),
      };
    });
  }
  let last: { readonly key: string; readonly at: number; readonly line: string } | undefined;
  return (set) => {
    const { rollout } = set;
    if (rollout === undefined) return undefined;
    const key = `${set.hash} ${rollout.mode} ${rollout.singleReplica}`;
    if (last?.key === key && Date.now() < last.at + KEPT_MS) return last.line;
    const line = outlookLine(forecast(podsNow(), set, rollout));
    last = { key, at: Date.now(), line };
    return line;
  };
}
