import { Counter, Gauge, type Registry } from 'prom-client';
import { POD_STATES } from './plan/pod.ts';
import type { Step } from './plan/step.ts';

const HOWS = ['in-place', 'replace'] as const;
const OUTCOMES = ['done', 'left', 'failed'] as const;

/** What a rollout has done, and where it is. */
export function rolloutMetrics(registry: Registry) {
  const pods = new Gauge({
    name: 'envoy_initializer_rollout_pods',
    help: 'Pods with a sidecar by their state in the rollout of the template; on the leader',
    labelNames: ['state'],
    registers: [registry],
  });
  const halted = new Gauge({
    name: 'envoy_initializer_rollout_halted',
    help: '1 while the breaker has stopped the rollout of the template, else 0',
    registers: [registry],
  });
  const changes = new Counter({
    name: 'envoy_initializer_rollout_changed_total',
    help: 'Pods that a rollout has changed (in-place) or evicted (replace): done, left as they are, or failed',
    labelNames: ['how', 'outcome'],
    registers: [registry],
  });
  // Each series is there from the start: a rate needs the 0 before the first change.
  for (const how of HOWS) for (const outcome of OUTCOMES) changes.inc({ how, outcome }, 0);
  for (const state of POD_STATES) pods.set({ state }, 0);
  return {
    /** The last step of the leader; undefined while there is no rollout. */
    stepped(step: Step | undefined): void {
      halted.set(step?.phase === 'halted' || step?.phase === 'back' ? 1 : 0);
      const counts = new Map<string, number>(POD_STATES.map((state) => [state, 0]));
      for (const { is } of step?.pods ?? []) counts.set(is, (counts.get(is) ?? 0) + 1);
      for (const [state, number] of counts) pods.set({ state }, number);
    },
    changed: (how: (typeof HOWS)[number], outcome: (typeof OUTCOMES)[number]): void =>
      changes.inc({ how, outcome }),
  };
}
export type RolloutMetrics = ReturnType<typeof rolloutMetrics>;
