import { ENVOY_CONFIG_MAP } from '../../injection/envoy/files.ts';
import type { Keys } from '../../injection/keys.ts';
import type { NamespaceSettings } from '../../injection/namespace-settings.ts';
import { annotation, nameOf, troubleOf } from '../../injection/podspec/pod.ts';
import { isPod, type PodSite } from '../../injection/podspec/workload.ts';
import type { DecideOptions } from '../../injection/rule.ts';
import { howEnded } from '../../injection/sidecar-failure.ts';
import { parseStatus } from '../../injection/status.ts';
import type { TemplateSet } from '../../injection/template/template-set.ts';
import { sidecarState, unmarkedBecause } from '../../injection/webhook/classify.ts';
import type { TemplateDryRun } from '../../injection/webhook/template-dry-run.ts';
import { ifReadable } from '../../kube/api/api-error.ts';
import { splitKey } from '../../kube/api/object.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { NETWORK_GATE } from '../../networks/api/names.ts';
import { ANY_NETWORKS } from '../../networks/api/resources.ts';
import { OPEN_ACCESS } from '../../networks/pods/network-access.ts';
import { networkPods } from '../../networks/pods/network-pods.ts';
import { listed } from '../../util/clip.ts';
import { type JsonObject, own, ownObjects, ownString } from '../../util/json.ts';
import { CALLED_AS } from '../io/terminal.ts';
import { lastWords } from '../last-event.ts';
import type { NamespaceObjects } from '../namespace-objects.ts';
import type { CheckFinding } from './check-report.ts';
import { podsOf } from './check-target.ts';
import type { AppliedWebhooks } from './check-webhook.ts';

/** What the decision about a pod rests on, as the user's rights show it. */
export interface LiveBasis {
  readonly decideOptions: DecideOptions;
  readonly state: { readonly set: TemplateSet };
  readonly namespace: string;
  readonly client: KubeClient;
  readonly objects: NamespaceObjects;
  /** Finds the shapes of pods that the templates do not fit, as the operator does. */
  readonly dryRun: Pick<TemplateDryRun, 'prove'>;
  /** What new pods get outside of the canary until a rollout is promoted; undefined if that is the template itself. */
  readonly promoted: TemplateSet | undefined;
  /** Undefined if the user may not read the configuration. */
  readonly webhooks: AppliedWebhooks | undefined;
  /** Whether admission policies inject pods, also while no replica answers. */
  readonly policies: boolean;
}

const NETWORK_PODS = networkPods(OPEN_ACCESS);
/** Names in one message. */
const MAX_NAMES = 3;
/** Pods about which there is a finding of its own. */
const MAX_PODS = 5;

/** The existing pods, and findings about those with a missing or stale sidecar. */
export async function existingPods(
  site: PodSite,
  { client, objects, namespace, decideOptions: { keys }, state, promoted }: LiveBasis,
  wanted: boolean,
  settings: NamespaceSettings,
) {
  const isAlone = isPod(site);
  const all = isAlone ? [site.object] : await podsOf(client, namespace, site.object);
  // Pods that are being deleted are replaced, or no longer wanted.
  const found = all.filter((pod) => isAlone || own(own(pod, 'metadata'), 'deletionTimestamp') === undefined);
  const pods = await Promise.all(
    found.map(async (pod) => ({
      name: ownString(own(pod, 'metadata'), 'name') ?? '',
      sidecar: sidecarState(pod, settings, keys, state),
      // A restart would give these pods the same template.
      isEarly: promoted !== undefined && sidecarState(pod, settings, keys, { set: promoted }) === 'current',
      isOld: await objects.isOlderIn(pod, namespace, keys),
      isWaiting: await objects.isMissingFor(pod, namespace),
    })),
  );
  const findings: CheckFinding[] = [
    ...(await waitingAtGates(client, found)),
    ...failingContainers(found, keys),
    ...(await missingInterfaces(client, found)),
  ];
  const add = (reason: string, isMeant: (pod: (typeof pods)[number]) => boolean, what: string) => {
    const names = pods.filter(isMeant).map(({ name }) => name);
    if (names.length > 0) findings.push({ reason, message: `${podsCalled(names)} ${what}` });
  };
  const again = isAlone ? 'recreate the pod' : 'run kubectl rollout restart, or delete such pods';
  add(
    'stale-pod',
    ({ sidecar, isEarly }) => sidecar === 'stale' && isEarly,
    `the template for new pods, because the newest is not promoted: see ${CALLED_AS} rollout`,
  );
  add(
    'stale-pod',
    ({ sidecar, isEarly }) => sidecar === 'stale' && !isEarly,
    `a stale sidecar, from another template version: ${state.set.rollout ? `see ${CALLED_AS} rollout, or ` : ''}${again}`,
  );
  add(
    'pod-without-sidecar',
    ({ sidecar }) => wanted && sidecar === 'absent',
    `no sidecar, because of a later opt-in or a webhook that did not answer: ${again}`,
  );
  add(
    'no-status',
    ({ sidecar }) => wanted && sidecar === 'unmarked',
    `the sidecar, but ${unmarkedBecause(keys)}`,
  );
  const isAnyWaiting = pods.some(({ isWaiting }) => isWaiting);
  const why = isAnyWaiting && (await lastWords(client, namespace, `ConfigMap/${ENVOY_CONFIG_MAP}`));
  add(
    'missing-configuration',
    ({ isWaiting }) => isWaiting,
    `no ConfigMap ${ENVOY_CONFIG_MAP} to mount in namespace ${namespace}: ${why}`,
  );
  add(
    'old-configuration',
    ({ isOld }) => isOld,
    `an older Envoy configuration than in ConfigMap ${ENVOY_CONFIG_MAP}, which Envoy reads only at startup: ${again}`,
  );
  return { list: pods.map(({ name, sidecar }) => ({ name, sidecar })), findings };
}

function podsCalled(names: readonly string[]): string {
  const [pods, have] = names.length === 1 ? ['pod', 'has'] : ['pods', 'have'];
  return `${pods} ${listed(names, MAX_NAMES)} ${have}`;
}

/** A finding for each pod that is not scheduled because of its gates, with the reason of its last Event. */
export async function waitingAtGates(
  client: KubeClient,
  pods: readonly JsonObject[],
): Promise<readonly CheckFinding[]> {
  const gatesOf = (pod: JsonObject) => ownObjects(own(pod, 'spec'), 'schedulingGates').map(nameOf);
  const gated = pods.filter((pod) => gatesOf(pod).length > 0).slice(0, MAX_PODS);
  return await Promise.all(
    gated.map(async (pod) => {
      const metadata = own(pod, 'metadata');
      const [namespace, uid] = [ownString(metadata, 'namespace'), ownString(metadata, 'uid')];
      const name = ownString(metadata, 'name') ?? '';
      const gates = gatesOf(pod);
      const why = gates.includes(NETWORK_GATE)
        ? await lastWords(client, namespace, `Pod/${name}`, uid)
        : 'another controller set them and must remove them';
      const message = `pod ${name} stays unscheduled until its gates are removed (${gates.join(', ')}): ${why}`;
      return { reason: 'scheduling-gated', message };
    }),
  );
}

/** A finding for each container of a sidecar, and each init container, that cannot run, with its last words. */
export function failingContainers(pods: readonly JsonObject[], keys: Keys): readonly CheckFinding[] {
  const findings = pods.flatMap((pod) => {
    const added = parseStatus(annotation(pod, keys.status))?.added.containers ?? [];
    const status = own(pod, 'status');
    const states = [
      ...ownObjects(status, 'initContainerStatuses'),
      ...ownObjects(status, 'containerStatuses').filter((state) => added.includes(nameOf(state))),
    ];
    return states.flatMap((state) => {
      const trouble = troubleOf(state);
      if (trouble === undefined) return [];
      // What a container said when it ended is gone from its state once the kubelet waits to start it again.
      const [now, last] = ['state', 'lastState'].map((key) => own(own(state, key), 'terminated'));
      const end = now ?? last;
      const why = [...(now ? [] : [trouble]), ...(end ? [howEnded(end)] : [])].join('; ');
      const owner = ownString(own(pod, 'metadata'), 'name');
      const message = `pod ${owner}: container ${nameOf(state)} cannot run: ${why}`;
      return [{ reason: 'container-failing', message }];
    });
  });
  return findings.slice(0, MAX_PODS);
}

/** A finding for each running pod that Multus did not attach to a Network that it asks for. */
export async function missingInterfaces(
  client: KubeClient,
  pods: readonly JsonObject[],
): Promise<readonly CheckFinding[]> {
  const missing = pods.flatMap((pod) => {
    const { metadata, unattached = [] } = NETWORK_PODS.decode(pod);
    return unattached.map((network) => ({ pod: metadata.name, network, ...splitKey(network) }));
  });
  const findings = await Promise.all(
    missing.slice(0, MAX_PODS).map(async ({ pod, network, namespace = '', name }) => {
      // What is no Network is another definition.
      if ((await ifReadable(client.get(ANY_NETWORKS, { namespace, name }))) === undefined) return [];
      const message = `pod ${pod} runs without its interface on Network ${network}, which Multus did not attach: recreate the pod when Multus is on its node`;
      return [{ reason: 'interface-missing', message }];
    }),
  );
  return findings.flat();
}
