import { own, ownString } from '../../json/json.ts';
import type { PodSite } from '../../podspec/workload.ts';
import { type SidecarState, sidecarState } from '../../sidecar/sidecar-state.ts';
import type { LiveBasis } from './check-basis.ts';
import type { CheckFinding } from './check-report.ts';
import { podsOf } from './check-target.ts';

const MAX_NAMES = 3;

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
  const named = (state: SidecarState) =>
    list.filter(({ sidecar }) => sidecar === state).map(({ name }) => name);
  const [stale, absent] = [named('stale'), wanted ? named('absent') : []];
  const findings: CheckFinding[] = [];
  if (stale.length > 0) {
    const message = `the sidecar of ${podsCalled(stale)} is of another state of the template: ${again}`;
    findings.push({ reason: 'stale-pod', message });
  }
  if (absent.length > 0) {
    const message = `there is no sidecar in ${podsCalled(absent)}, created before there was to be one or while the webhook did not answer: ${again}`;
    findings.push({ reason: 'pod-without-sidecar', message });
  }
  return { list, findings };
}

function podsCalled(names: readonly string[]): string {
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : '';
  return `${names.length === 1 ? 'pod' : 'pods'} ${names.slice(0, MAX_NAMES).join(', ')}${more}`;
}
