import { own, ownString } from '../inject/json.ts';
import { sidecarState } from '../inject/sidecar-state.ts';
import type { PodSite } from '../inject/workload.ts';
import type { LiveBasis } from './check-basis.ts';
import type { CheckFinding } from './check-report.ts';
import { podsOf } from './check-target.ts';

/** The pods that run already, and which of them have not what they would get now. */
export async function existingPods(
  site: PodSite,
  { client, namespace, decide: { keys }, state }: LiveBasis,
  wanted: boolean,
) {
  const isPod = site.pod === site.object;
  const found = isPod ? [site.object] : await podsOf(client, namespace, site.object);
  const list = found.map((pod) => ({
    name: ownString(own(pod, 'metadata'), 'name') ?? '',
    sidecar: sidecarState(pod, keys, state),
  }));
  const again = isPod ? 'create it again' : 'kubectl rollout restart, or delete it';
  const findings = list.flatMap(({ name, sidecar }): readonly CheckFinding[] => {
    if (sidecar === 'stale') {
      return [
        {
          reason: 'stale-pod',
          message: `pod ${name} has the sidecar of another state of the template: ${again}`,
        },
      ];
    }
    if (sidecar === 'absent' && wanted) {
      return [
        {
          reason: 'pod-without-sidecar',
          message: `pod ${name} runs without its sidecar, as it was created before it would get one or while the webhook did not answer: ${again}`,
        },
      ];
    }
    return [];
  });
  return { list, findings };
}
