import { own } from '../../util/json.ts';
import { findCapture, proxyOf, proxyUserFaults, userOf } from '../envoy/capture.ts';
import { CEL_ALL_CONTAINERS, celAnyOf } from '../podspec/cel.ts';
import type { AdviceRule } from '../rule.ts';

export const proxyUser = {
  reason: 'proxy-user',
  help: "a container runs as Envoy's user, so its traffic bypasses Envoy, or Envoy as another; the pod gets its sidecar",
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
