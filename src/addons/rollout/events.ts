import type { KubeObject } from '../../kube/api/object.ts';
import type { EventRecorder } from '../../kube/events/events.ts';
import { counted } from '../../util/clip.ts';
import type { Phase } from './plan/phase.ts';
import type { PodState } from './plan/pod.ts';
import type { Revisions } from './plan/revision.ts';
import type { Step } from './plan/step.ts';

/** Named in an Event; the others are counted. */
const MOST_NAMED = 5;

/** Most budgets have room again after this time. */
const PATIENCE_MS = 60_000;

/**
 * Tells of a rollout on its ConfigMap: when it starts, is halted, and is done, and of the first pod that is refused, or
 * that waits for its disruption. `revisionOf`: the revision of the templates with a hash.
 */
export function rolloutEvents(
  events: EventRecorder,
  regarding: () => KubeObject,
  revisionOf: (hash: string) => KubeObject,
) {
  let lastPhase: Phase | undefined;
  /** For each reason to warn of pods, the hash of the last templates for which it was written. */
  const warned = new Map<string, string>();

  /** Call it with each step. What an earlier leader has written is not written again. */
  function seen({ phase, decision, health, pods }: Step, { target }: Revisions, now: number): void {
    const before = lastPhase;
    lastPhase = phase;
    const { hash } = target.set;
    // An Event of another template is no repetition, and no halt with other pods.
    const write = (type: 'Normal' | 'Warning', reason: string, note: string) => {
      const details = { type, reason, action: 'RollOut', note, related: revisionOf(hash) };
      events.event(regarding(), { ...details, eachNote: reason === 'RolloutHalted' });
    };
    if (decision?.do === 'begin') {
      const waiting = pods.filter(({ is }) => is === 'waiting' || is === 'under-way').length;
      write('Normal', 'RolloutStarted', `Rolling out the new template to ${counted(waiting, 'pod')}`);
    }
    // A configuration of Envoy has no revision that could say that it was halted before.
    const isHalted = decision?.do === 'halt' || (phase === 'halted' && target.state !== 'halted');
    if (isHalted && before !== 'halted') {
      const named = health.failing
        .slice(0, MOST_NAMED)
        .map(({ pod, why }) => (why === undefined ? pod.key : `${pod.key}: ${why}`));
      const others = health.failing.length - named.length;
      const isEarly = health.failing.length < (target.set.rollout?.breaker.failures ?? 0);
      const why = isEarly ? ': no other pod of the failing canary can change' : '';
      const note = [`The breaker has stopped the rollout${why}. Failing: ${named.join('; ')}`];
      if (others > 0) note.push(`and ${others} more`);
      write('Warning', 'RolloutHalted', note.join('; '));
    }
    /** `whyOf`: why a pod is meant; undefined if it is not. */
    const warnOnce = (reason: string, what: string, whyOf: (state: PodState) => string | undefined) => {
      const meant = pods.filter((state) => whyOf(state) !== undefined);
      const [first] = meant;
      if (!first || warned.get(reason) === hash) return;
      warned.set(reason, hash);
      write('Warning', reason, `${counted(meant.length, 'pod')} ${what}. ${first.pod.key}: ${whyOf(first)}`);
    };
    warnOnce('RolloutRefused', 'cannot get the template', ({ is, message }) =>
      is === 'refused' ? message : undefined,
    );
    warnOnce('RolloutWaits', 'cannot be changed yet', ({ is, pod: { blocked } }) =>
      is === 'waiting' && blocked && now >= blocked.since + PATIENCE_MS ? blocked.why : undefined,
    );
    if (phase === 'done' && before !== undefined && before !== 'done') {
      const left = pods.filter(({ is }) => is === 'left' || is === 'refused').length;
      const rest = left === 0 ? '' : `; ${counted(left, 'pod')} left as ${left === 1 ? 'it is' : 'they are'}`;
      const current = pods.filter(({ is }) => is === 'current').length;
      write(
        'Normal',
        'RolloutDone',
        `${counted(current, 'pod')} ${current === 1 ? 'has' : 'have'} the template${rest}`,
      );
    }
  }

  return {
    seen,
    /** At the end of a term. */
    forget(): void {
      lastPhase = undefined;
      warned.clear();
    },
  };
}
export type RolloutEvents = ReturnType<typeof rolloutEvents>;
