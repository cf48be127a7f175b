import type { Pod } from '../podspec/pod.ts';
import { type Obstacle, RESULT_RULES } from './reason.ts';

/**
 * Predicts why the API server would refuse a pod once it is injected, as far as the pod and its namespace show. What is
 * wrong with the pod before does not count.
 */
export function predictRejection(
  before: Pod,
  after: Pod,
  namespaceLabels: Readonly<Record<string, string>>,
): Obstacle | undefined {
  for (const { reason, violations } of RESULT_RULES) {
    const found = violations(after, namespaceLabels);
    if (found.length === 0) continue;
    const known = new Set(violations(before, namespaceLabels));
    const messages = found.filter((message) => !known.has(message));
    if (messages.length > 0) return { reason, messages };
  }
  return undefined;
}
