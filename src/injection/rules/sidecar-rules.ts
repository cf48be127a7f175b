import { own } from '../../util/json.ts';
import { findCapture, proxyOf, proxyUserFaults, userOf } from '../envoy/capture.ts';
import { knownAnnotations } from '../keys.ts';
import { CEL_ALL_CONTAINERS, celAnyOf, celHas, celString, celStrings } from '../podspec/cel.ts';
import { podSecurityOf, podSecurityViolations } from '../podspec/pod-security.ts';
import { gracePeriodViolations, longestSleep } from '../podspec/rules/grace-period.ts';
import { limitRangeViolations } from '../podspec/rules/limit-ranges.ts';
import { podResourceViolations } from '../podspec/rules/pod-resources.ts';
import type { AdviceRule, MergeRule, ResultRule } from '../rule.ts';

export const invalidOverride = {
  reason: 'invalid-override',
  help: "the pod's changes to the sidecar are invalid; an invalid or unknown annotation alone is ignored",
  warn: true,
  // Also unknown overrides: the webhook warns of them.
  cel: ({ keys }) => {
    const isOverride = `key.startsWith(${celString(`${keys.optIn}-`)})`;
    const others = knownAnnotations(keys).filter((key) => !Object.values(keys.overrides).includes(key));
    const exists = `object.metadata.annotations.exists(key, ${isOverride} && !(key in ${celStrings(others)}))`;
    return { unless: `${celHas('metadata.annotations')} && ${exists}` };
  },
} as const satisfies MergeRule;

/** What the API server would refuse in a pod with its sidecar. */
export const RESULT_RULES = [
  {
    reason: 'pod-resources',
    help: "the pod's own resources are too small for the sidecar",
    warn: true,
    cel: () => ({ unless: 'has(object.spec.resources)' }),
    violations: podResourceViolations,
  },
  {
    reason: 'grace-period',
    help: "the sidecar's hooks sleep longer than the pod's grace period",
    warn: true,
    cel({ template }) {
      const seconds = longestSleep([...template.containers, ...template.initContainers]);
      const given = 'object.spec.terminationGracePeriodSeconds';
      return seconds === 0 ? undefined : { unless: `has(${given}) && ${given} < ${seconds}` };
    },
    violations: gracePeriodViolations,
  },
  {
    reason: 'pod-security',
    help: 'the namespace would refuse the pod with its sidecar',
    warn: true,
    // The matchConstraints of the policy exclude namespaces with a level or version that the template breaks.
    cel: 'elsewhere',
    violations(pod, { namespaceLabels, serverMinor }) {
      const enforced = podSecurityOf(namespaceLabels, serverMinor);
      const found = podSecurityViolations(pod, enforced);
      if (found.length === 0) return found;
      return found.map((violation) => `the namespace enforces ${enforced.level} pod security: ${violation}`);
    },
  },
  {
    reason: 'limit-range',
    help: 'a LimitRange of the namespace would refuse the pod with its sidecar',
    warn: true,
    // The matchConstraints of the policy exclude namespaces with a LimitRange that the template may break.
    cel: 'elsewhere',
    violations: (pod, { limitRanges = [] }) => limitRangeViolations(pod, limitRanges),
  },
] as const satisfies readonly ResultRule[];

export const proxyUser = {
  reason: 'proxy-user',
  help: "a container runs as Envoy's user and bypasses Envoy, or Envoy runs as another user; the pod gets its sidecar",
  warn: true,
  cel({ template }) {
    const capture = findCapture(template.initContainers);
    if (!capture) return undefined;
    const proxy = proxyOf(template);
    const uid = proxy && userOf(proxy, {});
    const ofPod = own(template.securityContext, 'runAsUser');
    const isAlwaysOdd = (uid ?? ofPod ?? capture.uid) !== capture.uid || ofPod === capture.uid;
    if (isAlwaysOdd) return { unless: 'true' };
    const runsAs = (at: string, those: string) =>
      `has(${at}.securityContext) && has(${at}.securityContext.runAsUser)${those}`;
    const isEnvoy = (at: string) => runsAs(at, ` && ${at}.securityContext.runAsUser == ${capture.uid}`);
    // A proxy that says no user has that of the pod.
    const inPod = uid === undefined ? runsAs('object.spec', '') : isEnvoy('object.spec');
    return { unless: celAnyOf([inPod, `${CEL_ALL_CONTAINERS}.exists(c, ${isEnvoy('c')})`]) };
  },
  advice: proxyUserFaults,
} as const satisfies AdviceRule;
