import { ENVOY_CONFIG_MAP } from '../../injection/envoy/configuration-age.ts';
import type { NamespaceSettings } from '../../injection/namespace-settings.ts';
import { isPod, type PodSite } from '../../injection/podspec/workload.ts';
import { type SidecarState, sidecarState, unmarkedBecause } from '../../injection/sidecar-state.ts';
import { type JsonObject, own, ownString } from '../../util/json.ts';
import { lastWords } from '../last-event.ts';
import { CALLED_AS } from '../program-name.ts';
import { missingAttachments } from './attachments.ts';
import type { LiveBasis } from './check-basis.ts';
import type { CheckFinding } from './check-report.ts';
import { podsOf } from './check-target.ts';
import { EnvoyConfigurations } from './envoy-configuration.ts';
import { failingContainers } from './failing-containers.ts';
import { waitingAtGates } from './gates.ts';
import { pendingNetworks } from './pending-networks.ts';

const MAX_NAMES = 3;

/** The existing pods, and findings about those with a missing or stale sidecar. */
export async function existingPods(
  site: PodSite,
  { client, namespace, decide: { keys }, state, promoted }: LiveBasis,
  wanted: boolean,
  settings: NamespaceSettings,
) {
  const isAlone = isPod(site);
  const found = isAlone
    ? [site.object]
    : (await podsOf(client, namespace, site.object)).filter((pod) => !isGoing(pod));
  const list = found.map((pod) => ({
    name: ownString(own(pod, 'metadata'), 'name') ?? '',
    sidecar: sidecarState(pod, settings, keys, state),
  }));
  const again = isAlone ? 'recreate it' : 'run kubectl rollout restart, or delete it';
  const named = (state: SidecarState) =>
    list.filter(({ sidecar }) => sidecar === state).map(({ name }) => name);
  // A restart would give these pods the same template.
  const early = found.flatMap((pod, i) =>
    promoted &&
    list[i]?.sidecar === 'stale' &&
    sidecarState(pod, settings, keys, { set: promoted }) === 'current'
      ? [list[i].name]
      : [],
  );
  const stale = named('stale').filter((name) => !early.includes(name));
  const absent = wanted ? named('absent') : [];
  const findings: CheckFinding[] = [
    ...(await waitingAtGates(client, found)),
    ...failingContainers(found, keys),
    ...(await missingAttachments(client, site.pod, namespace)),
    ...(await pendingNetworks(client, found, namespace)),
  ];
  if (early.length > 0) {
    const message = `${podsCalled(early)} the template that new pods get, because the last one is not promoted: see ${CALLED_AS} rollout`;
    findings.push({ reason: 'stale-pod', message });
  }
  if (stale.length > 0) {
    const mode = state.set.rollout?.mode ?? 'new-pods';
    const first = mode === 'new-pods' ? '' : `see ${CALLED_AS} rollout, or `;
    const message = `${podsCalled(stale)} a stale sidecar, of another version of the template: ${first}${again}`;
    findings.push({ reason: 'stale-pod', message });
  }
  if (absent.length > 0) {
    const message = `${podsCalled(absent)} no sidecar, because of a later opt-in or a webhook that did not answer: ${again}`;
    findings.push({ reason: 'pod-without-sidecar', message });
  }
  const unmarked = wanted ? named('unmarked') : [];
  if (unmarked.length > 0) {
    const message = `${podsCalled(unmarked)} the sidecar, but ${unmarkedBecause(keys)}`;
    findings.push({ reason: 'no-status', message });
  }
  const configurations = new EnvoyConfigurations(client, keys);
  const old = await Promise.all(found.map((pod) => configurations.isOlderIn(pod, namespace)));
  const names = list.flatMap(({ name }, index) => (old[index] ? [name] : []));
  const missing = await Promise.all(found.map((pod) => configurations.isMissingFor(pod, namespace)));
  const waiting = list.flatMap(({ name }, index) => (missing[index] ? [name] : []));
  if (waiting.length > 0) {
    const why = await lastWords(client, namespace, `ConfigMap/${ENVOY_CONFIG_MAP}`);
    const message = `${podsCalled(waiting)} no ConfigMap ${ENVOY_CONFIG_MAP} to mount in namespace ${namespace}: ${why}`;
    findings.push({ reason: 'missing-configuration', message });
  }
  if (names.length > 0) {
    const message = `${podsCalled(names)} an older configuration of Envoy than the ConfigMap ${ENVOY_CONFIG_MAP}, which Envoy reads only when it starts: ${again}`;
    findings.push({ reason: 'old-configuration', message });
  }
  return { list, findings };
}

/** Pods that are being deleted are replaced, or no longer wanted. */
function isGoing(pod: JsonObject): boolean {
  return own(own(pod, 'metadata'), 'deletionTimestamp') !== undefined;
}

function podsCalled(names: readonly string[]): string {
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : '';
  const [pods, have] = names.length === 1 ? ['pod', 'has'] : ['pods', 'have'];
  return `${pods} ${names.slice(0, MAX_NAMES).join(', ')}${more} ${have}`;
}
