import { type Injection, inject } from '../../injection/inject.ts';
import { annotatedNamespace, effectMistakes, optInMistakes } from '../../injection/mistakes.ts';
import { type NamespaceSettings, namespaceSettings } from '../../injection/namespace-settings.ts';
import { isExplicit, type OptIn, resolveOptIn } from '../../injection/opt-in.ts';
import { podCreation } from '../../injection/podspec/admission-target.ts';
import { createdPod, describeObject, isPod, type PodSite } from '../../injection/podspec/workload.ts';
import type { PodDiagnostic } from '../../injection/rules/index.ts';
import { hasShape, POD_SHAPES } from '../../injection/template/pod-shapes.ts';
import type { TemplateSelection } from '../../injection/template/template-set.ts';
import { uninject } from '../../injection/uninject.ts';
import { ifReadable } from '../../kube/api/api-error.ts';
import { NAMESPACES } from '../../kube/api/core-resources.ts';
import { readServerVersion } from '../../kube/client/server-version.ts';
import { formatDiagnostic } from '../../util/diagnostic.ts';
import type { JsonObject } from '../../util/json.ts';
import { tryDryRun } from './check-dry-run.ts';
import { networkMistakes } from './check-network.ts';
import { existingPods, type LiveBasis } from './check-pods.ts';
import type { CheckFinding, CheckReport } from './check-report.ts';

/** Decides about a pod or workload of the cluster, and looks at its webhooks, a dry run and existing pods. */
export async function checkLive(site: PodSite, given: LiveBasis): Promise<CheckReport> {
  const { client, namespace, webhooks, policies } = given;
  const basis = { ...given, state: await provenState(site, given) };
  const known = (await ifReadable(client.get(NAMESPACES, { name: namespace })))?.metadata;
  const labels = known ? (known.labels ?? {}) : { 'kubernetes.io/metadata.name': namespace };
  const { minor } = await readServerVersion(client);
  const objects = await basis.objects.in(namespace);
  const settings = {
    ...namespaceSettings({ ...known, labels }, basis.decideOptions.keys, minor),
    ...objects,
  };
  const { optIn: key } = basis.decideOptions.keys;
  const isMisplaced = Object.hasOwn(known?.annotations ?? {}, key) && !Object.hasOwn(labels, key);
  const pod = createdPod(site.object, isPod(site) ? fresh(site.pod, basis) : site.pod);
  const { report, injection, optIn } = decided(site, pod, basis, settings);
  const wanted = injection.outcome === 'injected';
  const webhook = webhooks?.takes(isExplicit(optIn), labels);
  const notSelected = wanted && webhooks?.findings.length === 0 && webhook === undefined;
  const dryRun = await tryDryRun(pod, injection, settings, basis);
  const pods = await existingPods(site, basis, wanted, settings);
  const { findings, ...rest } = report;
  return {
    ...rest,
    because: [
      ...report.because,
      ...(known ? [] : [`cannot read namespace ${namespace}: this check ignores its labels and annotations`]),
    ],
    ...(optIn.asked === 'inject' && webhook && { ...webhook, policies }),
    dryRun: dryRun.text,
    pods: pods.list,
    findings: [
      ...findings,
      ...(isMisplaced ? [{ reason: 'opt-in-mistake', message: annotatedNamespace(key) }] : []),
      ...(webhooks?.findings ?? []),
      ...(notSelected ? [{ reason: 'not-selected', message: notSelectedBy(namespace) }] : []),
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

/** A pod of the cluster as it was created: without the sidecar that it may have got. */
function fresh(pod: JsonObject, { decideOptions: { keys } }: LiveBasis): JsonObject {
  return uninject(pod, keys) ?? pod;
}

function decided(
  site: PodSite,
  pod: JsonObject,
  { decideOptions: options, state, namespace }: LiveBasis,
  settings: NamespaceSettings,
): { readonly report: CheckReport; readonly injection: Injection; readonly optIn: OptIn } {
  const injection = inject({
    request: podCreation(namespace),
    pod,
    ...settings,
    options,
    state,
  });
  const optIn = resolveOptIn(pod, settings.namespaceLabels, options);
  const mistakes = [...optInMistakes(site, options.keys, settings.namespaceLabels)];
  mistakes.push(...effectMistakes(site, injection, options.keys));
  const findings: CheckFinding[] = [
    ...mistakes.map((message) => ({ reason: 'opt-in-mistake', message })),
    ...[...networkMistakes(site)].map((message) => ({ reason: 'network-mistake', message })),
  ];
  const askedBy = describeOptIn(optIn, options.keys.optIn);
  const common = { object: describeObject(site.object), namespace, askedBy };
  if (injection.outcome === 'injected') {
    const templates = injection.status.templates.map(
      ({ name, sha256 }) => `${name} (sha256 ${sha256.slice(0, 12)})`,
    );
    findings.push(...toFindings(injection.warnings));
    const selectedBy = describeSelection(injection.selectedBy, options.keys.templates);
    const report: CheckReport = {
      ...common,
      decision: 'inject',
      because: [],
      templates,
      ...(selectedBy !== undefined && { selectedBy }),
      findings,
    };
    return { report, injection, optIn };
  }
  const { reason, diagnostics, warn } = injection.skip;
  if (warn) findings.push(...toFindings(diagnostics));
  const because = warn ? [] : diagnostics.map(formatDiagnostic);
  const decision = injection.outcome === 'denied' ? 'deny' : 'skip';
  return { report: { ...common, decision, reason, because, templates: [], findings }, injection, optIn };
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

/** Undefined if neither does: the pod gets the default template. */
function describeSelection(selectedBy: TemplateSelection['selectedBy'], key: string): string | undefined {
  return selectedBy === 'default' ? undefined : `the annotation ${key} of the ${selectedBy}`;
}

function notSelectedBy(namespace: string): string {
  return `no webhook selects namespace ${namespace}: compare its labels with the namespaceSelector of the MutatingWebhookConfiguration`;
}
