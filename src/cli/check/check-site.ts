import type { JsonObject } from '../../json/json.ts';
import { isForbidden, isNotFound } from '../../kube/api/api-error.ts';
import { NAMESPACES } from '../../kube/api/core-resources.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { podCreation } from '../../podspec/admission-target.ts';
import { describeObject, type PodSite } from '../../podspec/workload.ts';
import { type Injection, inject } from '../../sidecar/inject.ts';
import { isExplicit, type OptIn, resolveOptIn } from '../../sidecar/opt-in.ts';
import { optInMistakes } from '../../sidecar/opt-in-mistakes.ts';
import type { Obstacle } from '../../sidecar/rules/index.ts';
import { hasShape, POD_SHAPES } from '../../sidecar/template/pod-shapes.ts';
import { uninject } from '../../sidecar/uninject.ts';
import type { Basis, LiveBasis } from './check-basis.ts';
import { tryDryRun } from './check-dry-run.ts';
import { existingPods } from './check-pods.ts';
import type { CheckFinding, CheckReport } from './check-report.ts';

export interface OfflineBasis extends Basis {
  readonly labels: Readonly<Record<string, string>>;
}

/** Decides about a pod or pod template without a cluster. */
export function checkOffline(site: PodSite, basis: OfflineBasis): CheckReport {
  return decided(site, fresh(site.pod, basis), basis).report;
}

/** Also uses the cluster: labels of the namespace, webhooks, a dry run and existing pods. */
export async function checkLive(site: PodSite, given: LiveBasis): Promise<CheckReport> {
  const { client, namespace, webhooks, exists } = given;
  const basis = { ...given, state: await provenState(site, given) };
  const known = await labelsOf(client, namespace);
  const labels = known ?? { 'kubernetes.io/metadata.name': namespace };
  const pod = fresh(site.pod, basis);
  const { report, injection, optIn } = decided(site, pod, { ...basis, labels });
  const wanted = injection.outcome === 'injected';
  const webhook = webhooks?.takes(isExplicit(optIn), labels);
  const notSelected = wanted && webhooks?.findings.length === 0 && webhook === undefined;
  const dryRun = await tryDryRun(pod, injection, basis);
  const pods = exists ? await existingPods(site, basis, wanted) : { list: undefined, findings: [] };
  const { findings, ...rest } = report;
  return {
    ...rest,
    because: [
      ...report.because,
      ...(known ? [] : [`cannot read the labels of namespace ${namespace}: this check ignores them`]),
    ],
    ...(optIn.asked === 'inject' && webhook),
    dryRun: dryRun.text,
    ...(pods.list && { pods: pods.list }),
    findings: [
      ...findings,
      ...(webhooks?.findings ?? []),
      ...(notSelected ? [notSelectedFinding(namespace)] : []),
      ...dryRun.findings,
      ...pods.findings,
    ],
  };
}

/** Longest proof, in milliseconds. */
const PROOF_MS = 10_000;

/** The templates, proved as the operator proves them if the pod has a shape that they may not fit. */
async function provenState({ pod }: PodSite, { state, prover }: LiveBasis): Promise<LiveBasis['state']> {
  if (!POD_SHAPES.some((shape) => hasShape(pod, shape))) return state;
  const { signal } = new AbortController();
  return { set: (await prover.prove(state.set, {}, PROOF_MS, signal)).set };
}

/** The pod as a user creates it: without the sidecar that it may already have. */
function fresh(pod: JsonObject, { decide: { keys } }: Basis): JsonObject {
  return uninject(pod, keys) ?? pod;
}

function decided(
  site: PodSite,
  pod: JsonObject,
  { decide: options, state, namespace, labels }: OfflineBasis,
): { readonly report: CheckReport; readonly injection: Injection; readonly optIn: OptIn } {
  const injection = inject({ request: podCreation(namespace), pod, namespaceLabels: labels, options, state });
  const optIn = resolveOptIn(pod, labels, options);
  const findings: CheckFinding[] = [...optInMistakes(site, options.keys)].map((message) => ({
    reason: 'opt-in-mistake',
    message,
  }));
  const askedBy = describeOptIn(optIn, options.keys.optIn);
  const common = { object: describeObject(site.object), namespace, askedBy };
  if (injection.outcome === 'injected') {
    const templates = injection.status.templates.map(
      ({ name, sha256 }) => `${name} (sha256 ${sha256.slice(0, 12)})`,
    );
    if (injection.ignored) findings.push(...toFindings(injection.ignored));
    const report: CheckReport = { ...common, decision: 'inject', because: [], templates, findings };
    return { report, injection, optIn };
  }
  const { reason, messages, warn } = injection.skip;
  if (warn) findings.push(...toFindings(injection.skip));
  const because = warn ? [] : messages;
  const decision = injection.outcome === 'denied' ? 'deny' : 'skip';
  return { report: { ...common, decision, reason, because, templates: [], findings }, injection, optIn };
}

function toFindings({ reason, messages }: Obstacle): readonly CheckFinding[] {
  return messages.map((message) => ({ reason, message }));
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

function notSelectedFinding(namespace: string): CheckFinding {
  const message = `no webhook selects namespace ${namespace}: compare its labels with the namespaceSelector of the MutatingWebhookConfiguration`;
  return { reason: 'not-selected', message };
}

/** Undefined if the user may not read the namespace, or it does not exist. */
async function labelsOf(
  client: KubeClient,
  namespace: string,
): Promise<Readonly<Record<string, string>> | undefined> {
  try {
    return (await client.get(NAMESPACES, { name: namespace })).metadata.labels ?? {};
  } catch (err) {
    if (isForbidden(err) || isNotFound(err)) return undefined;
    throw err;
  }
}
