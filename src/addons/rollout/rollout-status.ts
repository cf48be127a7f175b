import { splitKey } from '../../kube/api/object.ts';
import { clip } from '../../util/clip.ts';
import { isObject, own } from '../../util/json.ts';
import { parseAnnotation } from '../../util/text-bounds.ts';
import type { Phase } from './plan/phase.ts';
import type { PodState } from './plan/pod.ts';
import type { Step } from './plan/step.ts';

/** The annotation of a revision with the status of its rollout, for the command line. */
export const STATUS = 'initializer.kubernetes.io/revision-status';

/** An annotation has a limit. */
const [MOST_GROUPS, MOST_PODS, MOST_FAILING, MOST_WORDS] = [50, 10, 20, 300];
const OTHERS = 'other reasons';

/** The pods in one state, for one reason. */
export interface PodGroup extends Pick<PodState, 'is' | 'why' | 'message'> {
  readonly count: number;
  /** The keys of the first ones. */
  readonly pods: readonly string[];
}

/** The last step of the leader, as it tells users. */
export interface RolloutStatus {
  readonly phase: Phase;
  readonly groups: readonly PodGroup[];
  readonly failing: readonly { readonly pod: string; readonly why: string }[];
}

/** The text of the annotation after a step. */
export function formatStatus({ phase, pods, health }: Step): string {
  const groups = new Map<string, { state: Omit<PodState, 'pod'>; count: number; pods: string[] }>();
  for (const { pod, is, why, message } of pods) {
    // The API server names the pod in what it refuses.
    const said = message && clip(message.replaceAll(`"${splitKey(pod.key).name}"`, '"…"'), MOST_WORDS);
    const idOf = (words?: string) => JSON.stringify([is, why, words]);
    const words = said === undefined || groups.size < MOST_GROUPS || groups.has(idOf(said)) ? said : OTHERS;
    const group = groups.get(idOf(words)) ?? { state: { is, why, message: words }, count: 0, pods: [] };
    groups.set(idOf(words), group);
    group.count += 1;
    if (group.pods.length < MOST_PODS) group.pods.push(pod.key);
  }
  const failing = health.failing
    .slice(0, MOST_FAILING)
    .map(({ pod, why = '' }) => ({ pod: pod.key, why: clip(why, MOST_WORDS) }));
  const status: RolloutStatus = {
    phase,
    groups: Array.from(groups.values(), ({ state, ...rest }) => ({ ...state, ...rest })),
    failing,
  };
  return JSON.stringify(status);
}

/** Reads the text of the annotation, which only the operator writes; undefined without one. */
export function readStatus(text: string | undefined): RolloutStatus | undefined {
  const status = parseAnnotation(text ?? '');
  const isOurs =
    isObject(status) && Array.isArray(own(status, 'groups')) && Array.isArray(own(status, 'failing'));
  return isOurs ? (status as unknown as RolloutStatus) : undefined;
}
