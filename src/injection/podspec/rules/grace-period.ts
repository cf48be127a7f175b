import { isObject, type JsonObject, own } from '../../../util/json.ts';
import { containers, HOOKS, initContainers, nameOf, type Pod, specField } from '../pod.ts';

/** The default of the API server, in seconds (k8s.io/api/core/v1, PodSpec.terminationGracePeriodSeconds). */
export const DEFAULT_GRACE_PERIOD = 30;

/**
 * What the API server rejects in a pod with a short grace period: a hook that sleeps longer than that
 * (k8s.io/kubernetes/pkg/apis/core/validation, validateSleepAction).
 */
export function gracePeriodViolations(pod: Pod): readonly string[] {
  const most = gracePeriod(pod);
  return [...containers(pod), ...initContainers(pod)].flatMap((container) =>
    sleeps(container)
      .filter(({ seconds }) => seconds > most)
      .map(
        ({ hook, seconds }) =>
          `the ${hook} hook of container ${nameOf(container)} sleeps for ${seconds} seconds, but the pod's terminationGracePeriodSeconds is ${most}: set it to ${seconds} or more`,
      ),
  );
}

function gracePeriod(pod: Pod): number {
  const given = specField(pod, 'terminationGracePeriodSeconds');
  return typeof given === 'number' ? given : DEFAULT_GRACE_PERIOD;
}

/**
 * The container with a preStop hook that lets it end within the pod's grace period: one that would sleep longer sleeps a
 * second less than that, or is left out where no second would be left.
 */
export function fitGracePeriod(container: JsonObject, pod: Pod): JsonObject {
  const { lifecycle, ...others } = container;
  const seconds = own(own(own(lifecycle, 'preStop'), 'sleep'), 'seconds');
  const most = gracePeriod(pod);
  if (!isObject(lifecycle) || typeof seconds !== 'number' || seconds <= most) return container;
  if (most > 1)
    return { ...container, lifecycle: { ...lifecycle, preStop: { sleep: { seconds: most - 1 } } } };
  const { preStop: _, ...hooks } = lifecycle;
  return Object.keys(hooks).length === 0 ? others : { ...container, lifecycle: hooks };
}

/** The longest that a hook of these containers sleeps, in seconds. */
export function longestSleep(list: readonly JsonObject[]): number {
  return Math.max(0, ...list.flatMap(sleeps).map(({ seconds }) => seconds));
}

function sleeps(container: JsonObject) {
  const lifecycle = own(container, 'lifecycle');
  if (!isObject(lifecycle)) return [];
  return HOOKS.flatMap((hook) => {
    const seconds = own(own(own(lifecycle, hook), 'sleep'), 'seconds');
    return typeof seconds === 'number' ? [{ hook, seconds }] : [];
  });
}
