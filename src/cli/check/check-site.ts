import { type Injection, inject } from '../../injection/inject.ts';
import type { Keys } from '../../injection/keys.ts';
import { annotatedNamespace, effectMistakes, optInMistakes } from '../../injection/mistakes.ts';
import { namespaceSettings } from '../../injection/namespace-settings.ts';
import { isExplicit, type OptIn, resolveOptIn } from '../../injection/opt-in.ts';
import { podCreation } from '../../injection/podspec/admission-target.ts';
import { createdPod, describeObject, isPod, type PodSite } from '../../injection/podspec/workload.ts';
import type { PodDiagnostic } from '../../injection/rules/index.ts';
import { hasShape, POD_SHAPES } from '../../injection/template/pod-shapes.ts';
import { uninject } from '../../injection/uninject.ts';
import { ifReadable } from '../../kube/api/api-error.ts';
import { NAMESPACES } from '../../kube/api/core-resources.ts';
import { readServerVersion } from '../../kube/client/server-version.ts';
import { formatDiagnostic } from '../../util/diagnostic.ts';
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
