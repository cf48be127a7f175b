import { oldImage } from '../injection/envoy/image-age.ts';
import { type Keys, keysFor } from '../injection/keys.ts';
import { namespaceSettings } from '../injection/namespace-settings.ts';
import { containers, initContainers, nameOf } from '../injection/podspec/pod.ts';
import type { DecideOptions } from '../injection/rule.ts';
import { addedContainers, parseStatus } from '../injection/status.ts';
import { type CanaryScope, isCanary } from '../injection/template/strategy.ts';
import type { TemplateSet } from '../injection/template/template-set.ts';
import { classify, type DriftBasis, injectionNow } from '../injection/webhook/classify.ts';
import { LIVE_PODS, NAMESPACES, PODS } from '../kube/api/core-resources.ts';
import { controllerOf, type KubeObject, keyOf } from '../kube/api/object.ts';
import type { KubeClient } from '../kube/client/client.ts';
import { readServerVersion } from '../kube/client/server-version.ts';
import { gateIndex } from '../networks/pods/network-pods.ts';
import { isObject, type JsonObject, own, ownString } from '../util/json.ts';
import { followInstallation, type Installation } from './installation.ts';
import { namespaceObjects } from './namespace-objects.ts';
import type { ClusterOptions, Scope } from './options/tool-options.ts';
import { templatesOfCluster } from './template-source.ts';

/** A pod with a missing or stale sidecar, or one that runs an older configuration of Envoy. */
export interface DriftedPod {
  readonly namespace: string;
  readonly name: string;
  readonly sidecar: 'missed' | 'stale' | 'old-configuration';
  /** The controller that would recreate the pod, such as `ReplicaSet/web-5d8`; empty for a standalone pod. */
  readonly controller: string;
  /** RFC 3339. */
  readonly created: string;
  /** Empty before it is scheduled. */
  readonly node: string;
}

/** The pods of a namespace, or of all. */
export interface Survey {
  readonly drifted: readonly DriftedPod[];
  /** All pods that have not ended. */
  readonly count: number;
  /** Pods that wait at the operator's gate, as `namespace/name`, oldest first. */
  readonly waiting: readonly { readonly key: string; readonly created: string }[];
  /** How many asked for a sidecar that the operator does not give them, by reason. */
  readonly skipped: ReadonlyMap<string, number>;
  /** How many have a sidecar whose Envoy is too old, by what is wrong with it. */
  readonly risks: ReadonlyMap<string, number>;
}

/** Compares the pods of a namespace, or of all, with the templates. */
export async function surveyPods(client: KubeClient, scope: Scope, basis: DriftBasis): Promise<Survey> {
  const { keys, operatorNamespace } = basis.options;
  const namespaces = await namespacesByName(client, scope.namespace);
  const { minor } = await readServerVersion(client);
  const objects = namespaceObjects(client, operatorNamespace);
  const drifted: DriftedPod[] = [];
  const [skipped, risks] = [new Map<string, number>(), new Map<string, number>()];
  const more = (counts: Map<string, number>, key: string) => counts.set(key, (counts.get(key) ?? 0) + 1);
  const waiting: { key: string; created: string }[] = [];
  let count = 0;
  for await (const pod of livePods(client, scope)) {
    const { namespace = '', creationTimestamp: created = '', deletionTimestamp } = pod.metadata;
    if (deletionTimestamp !== undefined) continue;
    count += 1;
    if (isObject(pod) && gateIndex(pod) >= 0) waiting.push({ key: keyOf(pod), created });
    const labelled = namespaceSettings(namespaces.get(namespace) ?? {}, keys, minor);
    const found = classify(pod, labelled, basis);
    const isWithout = found === 'maybe-missed' || found === 'without';
    const settings = { ...labelled, ...(isWithout && (await objects.in(namespace))) };
    const now = isWithout ? injectionNow(pod, settings, basis) : undefined;
    const missed = found === 'maybe-missed' && now?.outcome === 'injected';
    if (missed || found === 'stale') drifted.push(toDrifted(pod, missed ? 'missed' : 'stale'));
    else if (isObject(pod) && (await objects.isOlderIn(pod, namespace, keys)))
      drifted.push(toDrifted(pod, 'old-configuration'));
    else if (now && now.outcome !== 'injected' && now.skip.warn) more(skipped, now.skip.reason);
    const sidecars = sidecarsOf(pod, keys);
    for (const risk of new Set(sidecars.flatMap((sidecar) => [...oldImage(sidecar, false)])))
      more(risks, risk);
  }
  waiting.sort((a, b) => (a.created < b.created ? -1 : 1));
  return { drifted, count, skipped, risks, waiting };
}

/** The containers of a pod that the operator has added. */
export function sidecarsOf(pod: KubeObject, { status }: Keys): readonly JsonObject[] {
  const names = addedContainers(parseStatus(pod.metadata.annotations?.[status]) ?? { added: {} });
  const all = isObject(pod) ? [...containers(pod), ...initContainers(pod)] : [];
  return all.filter((container) => names.includes(nameOf(container)));
}

function toDrifted(pod: KubeObject, sidecar: DriftedPod['sidecar']): DriftedPod {
  const { namespace = '', name, creationTimestamp = '' } = pod.metadata;
  const owner = controllerOf(pod);
  const controller = owner ? `${owner.kind}/${owner.name}` : '';
  const node = (isObject(pod) && ownString(own(pod, 'spec'), 'nodeName')) || '';
  return { namespace, name, sidecar, controller, created: creationTimestamp, node };
}

async function namespacesByName(client: KubeClient, namespace: string | undefined) {
  const namespaces =
    namespace === undefined
      ? (await client.list(NAMESPACES, {})).items.map((item) => NAMESPACES.decode(item))
      : [await client.get(NAMESPACES, { name: namespace })];
  return new Map(namespaces.map(({ metadata }) => [metadata.name, metadata]));
}

/** The live pods of a scope. */
export async function* livePods(client: KubeClient, scope: Scope): AsyncGenerator<KubeObject, void> {
  for await (const { items } of client.pages(PODS, { ...scope, fieldSelector: LIVE_PODS }))
    for (const item of items) yield PODS.decode(item);
}

/** How the templates of the ConfigMap come to pods step by step. */
export interface TemplateRollout {
  /** What new pods get instead, outside of a canary; undefined once the templates are promoted. */
  readonly promoted: TemplateSet | undefined;
  /** The pods that get them meanwhile; undefined without any. */
  readonly canary: CanaryScope | undefined;
  /** The rollout in a line. */
  readonly text: string;
}

/** What an add-on knows of the templates of pods. */
export interface SurveyParts {
  /** Undefined without a rollout, or if the user may not read it. */
  readonly rollout?: (
    client: KubeClient,
    options: ClusterOptions,
    set: TemplateSet,
  ) => Promise<TemplateRollout | undefined>;
}

/** The templates of the cluster with their rollout, and the options with the installation's flags, by which pods get them. */
export async function liveTemplates<O extends ClusterOptions & Pick<DecideOptions, 'requireAnnotation'>>(
  client: KubeClient,
  given: O,
  tools: readonly SurveyParts[],
  installation: Installation | undefined,
) {
  const options = followInstallation(given, installation);
  const set = await templatesOfCluster(client, options);
  const found = await Promise.all(tools.map(({ rollout }) => rollout?.(client, options, set)));
  const { annotation, requireAnnotation, operatorNamespace } = options;
  const decideOptions: DecideOptions = { keys: keysFor(annotation), requireAnnotation, operatorNamespace };
  return { options, decideOptions, set, rollout: found.find((each) => each !== undefined) };
}

/** What pods are compared with. */
export async function surveyBasis(...of: Parameters<typeof liveTemplates>) {
  const { decideOptions: options, set, rollout } = await liveTemplates(...of);
  const templates: DriftBasis['templates'] = (pod, { namespaceLabels }) => {
    const { promoted = set, canary } = rollout ?? {};
    const isFirst = canary && isCanary(canary, namespaceLabels, controllerOf(pod)?.uid);
    return { set: isFirst ? set : promoted };
  };
  return { options, templates, rollout };
}
