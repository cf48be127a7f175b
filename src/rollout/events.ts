import type { KubeObject } from '../kube/api/object.ts';
import type { EventRecorder } from '../kube/events/events.ts';
import type { Revisions } from './core/revision.ts';
import type { Phase, Step } from './core/step.ts';

/** Named in an Event; the others are counted. */
const MOST_NAMED = 5;

/** Tells of a rollout on its ConfigMap: when it starts, is halted, and is done. */
export class RolloutEvents {
  readonly #events: EventRecorder;
  readonly #regarding: () => KubeObject;
  #phase: Phase | undefined;

  constructor(events: EventRecorder, regarding: () => KubeObject) {
    this.#events = events;
    this.#regarding = regarding;
  }

  /** Call it with each step. What an earlier leader has told is not told again. */
  seen({ phase, decision, health, pods }: Step, { target }: Revisions): void {
    const before = this.#phase;
    this.#phase = phase;
    if (decision?.do === 'begin') {
      const waiting = pods.filter(({ is }) => is === 'waiting' || is === 'under-way').length;
      this.#tell('Normal', 'RolloutStarted', `The new template reaches ${count(waiting)}, step by step`);
    }
    // A configuration of Envoy has no revision that could say that it was halted before.
    const isHalted = decision?.do === 'halt' || (phase === 'halted' && target.state !== 'halted');
    if (isHalted && before !== 'halted') {
      const named = health.failing
        .slice(0, MOST_NAMED)
        .map(({ pod, why }) => (why === undefined ? pod.key : `${pod.key}: ${why}`));
      const others = health.failing.length - named.length;
      const note = [`The breaker has stopped the rollout. Failing: ${named.join('; ')}`];
      if (others > 0) note.push(`and ${others} more`);
      this.#tell('Warning', 'RolloutHalted', note.join('; '));
    }
    if (phase === 'done' && before !== undefined && before !== 'done' && before !== 'off') {
      const left = pods.filter(({ is }) => is === 'left' || is === 'refused').length;
      const rest = left === 0 ? '' : `; ${count(left)} were left as they are`;
      const current = pods.filter(({ is }) => is === 'current').length;
      this.#tell('Normal', 'RolloutDone', `${count(current)} have the template${rest}`);
    }
  }

  /** At the end of a term. */
  forget(): void {
    this.#phase = undefined;
  }

  #tell(type: 'Normal' | 'Warning', reason: string, note: string): void {
    this.#events.event(this.#regarding(), { type, reason, action: 'RollOut', note });
  }
}

function count(pods: number): string {
  return pods === 1 ? '1 pod' : `${pods} pods`;
}
