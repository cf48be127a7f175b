import { gracePeriodViolations } from './grace-period.ts';
import type { Pod } from './pod.ts';
import { podResourceViolations } from './pod-resources.ts';
import { ENFORCE_LABEL, podSecurityViolations } from './pod-security.ts';
import type { Obstacle } from './reason.ts';

/**
 * Looks for what would make the API server refuse a pod once it is injected, as far as that can be seen in
 * the pod and its namespace. What is wrong with the pod already is no matter of ours.
 */
export function findRefusal(
  before: Pod,
  after: Pod,
  namespaceLabels: Readonly<Record<string, string>>,
): Obstacle | undefined {
  const news = (violations: (pod: Pod) => readonly string[]): readonly string[] => {
    const found = violations(after);
    if (found.length === 0) return found;
    const known = new Set(violations(before));
    return found.filter((message) => !known.has(message));
  };
  const resources = news(podResourceViolations);
  if (resources.length > 0) return { reason: 'pod-resources', messages: resources };
  const sleeps = news(gracePeriodViolations);
  if (sleeps.length > 0) return { reason: 'grace-period', messages: sleeps };
  const level = Object.hasOwn(namespaceLabels, ENFORCE_LABEL) ? namespaceLabels[ENFORCE_LABEL] : undefined;
  const security = news((pod) => podSecurityViolations(pod, level));
  if (security.length === 0) return undefined;
  return {
    reason: 'pod-security',
    messages: security.map((violation) => `the namespace enforces ${level} pod security: ${violation}`),
  };
}
