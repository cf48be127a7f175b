import { named } from '../../injection/dry-run-pod.ts';
import { type Injection, inject } from '../../injection/inject.ts';
import type { Keys } from '../../injection/keys.ts';
import { annotatedNamespace, effectMistakes, optInMistakes } from '../../injection/mistakes.ts';
import { type NamespaceSettings, namespaceSettings } from '../../injection/namespace-settings.ts';
import { isExplicit, type OptIn, resolveOptIn } from '../../injection/opt-in.ts';
import { podCreation } from '../../injection/podspec/admission-target.ts';
import { annotation, MIRROR_ANNOTATION } from '../../injection/podspec/pod.ts';
import { createdPod, describeObject, isPod, type PodSite } from '../../injection/podspec/workload.ts';
import type { PodDiagnostic } from '../../injection/rules/index.ts';
import { parseStatus } from '../../injection/status.ts';
import { hasShape, POD_SHAPES } from '../../injection/template/pod-shapes.ts';
import type { TemplateSet } from '../../injection/template/template-set.ts';
import { uninject } from '../../injection/uninject.ts';
import { sidecarState, unmarkedBecause } from '../../injection/webhook/classify.ts';
import { type ApiError, ifReadable, isForbidden } from '../../kube/api/api-error.ts';
import { NAMESPACES } from '../../kube/api/core-resources.ts';
import { dryRunPod } from '../../kube/client/dry-run.ts';
import { readServerVersion } from '../../kube/client/server-version.ts';
import { MULTUS_NETWORKS } from '../../networks/api/names.ts';
import { formatDiagnostic } from '../../util/diagnostic.ts';
import { defined, isObject, type JsonObject, ownObject } from '../../util/json.ts';
import { CALLED_AS } from '../io/terminal.ts';
import { networkMistakes } from './check-network.ts';
import type { CheckFinding, CheckReport } from './check-report.ts';
import { existingPods, type LiveBasis } from './existing-pods.ts';

/** Decides about a pod or workload of the cluster, and looks at its webhooks, a dry run and existing pods. */
export async function checkLive(site: PodSite, given: LiveBasis): Promise<CheckReport> {
  const { client, namespace, webhooks, policies } = given;
  const basis = { ...given, state: await provenState(site, given) };
  const known = (await ifReadable(client.get(NAMESPACES, { name: namespace })))?.metadata;
  const labels = known ? (known.labels ?? {}) : { 'kubernetes.io/metadata.name': namespace };
  const { minor } = await readServerVersion(client);
  const { decideOptions: options, objects, state } = basis;
  const { keys } = options;
  const settings = {
    ...namespaceSettings({ ...known, labels }, keys, minor),
    ...(await objects.in(namespace)),
  };
  const key = keys.optIn;
  const isMisplaced = Object.hasOwn(known?.annotations ?? {}, key) && !Object.hasOwn(labels, key);
  // A pod of the cluster as it was created: without the sidecar that it may have got.
  const pod = createdPod(site.object, (isPod(site) && uninject(site.pod, keys)) || site.pod);
  const injection = inject({ request: podCreation(namespace), pod, ...settings, options, state });
  const optIn = resolveOptIn(pod, settings.namespaceLabels, options);
  const mistakes = [
    ...optInMistakes(site, keys, settings.namespaceLabels),
    ...effectMistakes(site, injection, keys),
  ];
  const { findings, ...decision } = decisionOf(injection, keys);
  const wanted = injection.outcome === 'injected';
  const webhook = webhooks?.takes(isExplicit(optIn), labels);
  const isSelected = !wanted || webhooks?.findings.length !== 0 || webhook !== undefined;
  const notSelected = `no webhook selects namespace ${namespace}: compare its labels with the namespaceSelector of the MutatingWebhookConfiguration`;
  const dryRun = await tryDryRun(pod, injection, settings, basis);
  const pods = await existingPods(site, basis, wanted, settings);
  return {
    object: describeObject(site.object),
    namespace,
    askedBy: describeOptIn(optIn, key),
    ...decision,
    because: [
      ...decision.because,
      ...(known ? [] : [`cannot read namespace ${namespace}: this check ignores its labels and annotations`]),
    ],
    ...(optIn.asked === 'inject' && webhook && { ...webhook, policies }),
    dryRun: dryRun.text,
    pods: pods.list,
    findings: [
      ...mistakes.map((message) => ({ reason: 'opt-in-mistake', message })),
      ...[...networkMistakes(site)].map((message) => ({ reason: 'network-mistake', message })),
      ...findings,
      ...(isMisplaced ? [{ reason: 'opt-in-mistake', message: annotatedNamespace(key) }] : []),
      ...(webhooks?.findings ?? []),
      ...(isSelected ? [] : [{ reason: 'not-selected', message: notSelected }]),
      ...dryRun.findings,
      ...pods.findings,
    ],
  };
}

/** Longest proof, in milliseconds. */
const PROOF_MS = 10_000;

/** The templates, proved as the operator proves them if the pod has a shape that they may not fit. */
async function provenState({ pod }: PodSite, { state, dryRun }: LiveBasis): Promise<LiveBasis['state']> {
  if (!POD_SHAPES.some((shape) => hasShape(pod, shape))) return state;
  const { signal } = new AbortController();
  return { set: (await dryRun.prove(state.set, PROOF_MS, signal)).set };
}

/** What happens to the pod when it is created, and why. */
function decisionOf(
  injection: Injection,
  keys: Keys,
): Pick<CheckReport, 'decision' | 'reason' | 'because' | 'templates' | 'selectedBy' | 'findings'> {
  if (injection.outcome === 'injected') {
    const { selectedBy } = injection;
    return {
      decision: 'inject',
      because: [],
      templates: injection.status.templates.map(
        ({ name, sha256 }) => `${name} (sha256 ${sha256.slice(0, 12)})`,
      ),
      ...(selectedBy !== 'default' && {
        selectedBy: `the annotation ${keys.templates} of the ${selectedBy}`,
      }),
      findings: toFindings(injection.warnings),
    };
  }
  const { reason, diagnostics, warn } = injection.skip;
  return {
    decision: injection.outcome === 'denied' ? 'deny' : 'skip',
    reason,
    because: warn ? [] : diagnostics.map(formatDiagnostic),
    templates: [],
    findings: warn ? toFindings(diagnostics) : [],
  };
}

function toFindings(diagnostics: readonly PodDiagnostic[]): readonly CheckFinding[] {
  return diagnostics.map((each) => ({ reason: each.reason, message: formatDiagnostic(each) }));
}

function describeOptIn(optIn: OptIn, key: string): string {
  if (!('source' in optIn)) return 'no label or annotation';
  return {
    'pod-label': `the label ${key} of the pod`,
    'pod-annotation': `the annotation ${key} of the pod`,
    'namespace-label': `the label ${key} of the namespace`,
    'all-pods': 'the rule for all pods (--require-annotation=false)',
  }[optIn.source];
}

/**
 * Creates the pod as a dry run. Returns what the API server answers, and what follows from it: if the pod should be injected,
 * one without a sidecar is a finding.
 */
export async function tryDryRun(
  pod: JsonObject,
  injection: Injection,
  settings: NamespaceSettings,
  { client, namespace, decideOptions: { keys }, state, promoted }: LiveBasis,
): Promise<{ readonly text: string; readonly findings: readonly CheckFinding[] }> {
  const answer = await dryRunPod(client, namespace, asNew(pod)).catch((err: unknown) => {
    if (isForbidden(err)) return undefined;
    throw err;
  });
  if (!answer) return { text: `you are not allowed to create pods in namespace ${namespace}`, findings: [] };
  if (!answer.accepted) {
    const message = `${answer.error.message}${originOf(answer.error, injection)}`;
    const reason = message.includes('failed calling webhook') ? 'webhook-silent' : 'refused';
    return { text: 'the API server refuses the pod', findings: [{ reason, message }] };
  }
  const admitted = isObject(answer.pod) ? answer.pod : {};
  const status = parseStatus(annotation(admitted, keys.status));
  const wanted = injection.outcome === 'injected';
  if (wanted && sidecarState(admitted, settings, keys, state) === 'unmarked') {
    const message = `the pod has its sidecar, but ${unmarkedBecause(keys)}`;
    return {
      text: 'accepted with a sidecar, but without its status annotation',
      findings: [{ reason: 'no-status', message }],
    };
  }
  if (!status) {
    const message =
      "pod admitted without a sidecar: the webhook was not called or timed out. See the operator's log";
    return {
      text: 'accepted without the sidecar',
      findings: wanted ? [{ reason: 'webhook-silent', message }] : [],
    };
  }
  const has = (set: TemplateSet) => sidecarState(admitted, settings, keys, { set }) === 'current';
  if (has(state.set)) return { text: 'accepted with the sidecar', findings: [] };
  if (promoted !== undefined && has(promoted)) {
    const text = `accepted with the sidecar of the promoted template: ${CALLED_AS} rollout shows the new one`;
    return { text, findings: [] };
  }
  const message = "the webhook does not use the template in the ConfigMap: see the operator's log";
  return {
    text: 'accepted with a stale sidecar',
    findings: wanted ? [{ reason: 'webhook-behind', message }] : [],
  };
}

/** Names the containers and volumes of templates in which the API server refuses something. */
function originOf({ kind, fields }: ApiError, injection: Injection): string {
  if (injection.outcome !== 'injected' || kind !== 'Pod') return '';
  const { status, pod } = injection;
  const ours = [...Object.keys(status.overlaid), ...Object.values(status.added).flat()];
  const names = fields.flatMap(({ field }) => named(pod, field).name ?? []);
  const found = new Set(names.filter((name) => ours.includes(name)));
  return found.size === 0 ? '' : ` (the template's ${[...found].join(', ')})`;
}

/** The pod as a new one, without what was set later: by the scheduler (a static pod has none), `kubectl debug` and the operator. */
export function asNew(pod: JsonObject): JsonObject {
  const { uid, ...metadata } = ownObject(pod, 'metadata');
  const { nodeName, ephemeralContainers: _, ...spec } = ownObject(pod, 'spec');
  // Only the operator may write the ID of a pod's port in Neutron.
  const networks = uid && annotation(pod, MULTUS_NETWORKS)?.replace(/,?"OvnPort":"[^"]*"/g, '');
  const annotations = { ...ownObject(metadata, 'annotations'), ...defined({ [MULTUS_NETWORKS]: networks }) };
  const kept = { labels: ownObject(metadata, 'labels'), annotations };
  const node = annotation(pod, MIRROR_ANNOTATION) === undefined ? {} : defined({ nodeName });
  return { metadata: { generateName: 'envoy-initializer-check-', ...kept }, spec: { ...spec, ...node } };
}
