import { podCreation } from '../inject/admission-target.ts';
import type { DecideOptions } from '../inject/decide.ts';
import { type Injection, inject } from '../inject/inject.ts';
import { isObject, type JsonObject, own, ownString } from '../inject/json.ts';
import { isExplicit, type OptIn, resolveOptIn } from '../inject/opt-in.ts';
import { optInMistakes } from '../inject/opt-in-mistakes.ts';
import { annotation } from '../inject/pod.ts';
import { sidecarState } from '../inject/sidecar-state.ts';
import { parseStatus } from '../inject/status.ts';
import type { TemplateSet } from '../inject/template-set.ts';
import { uninject } from '../inject/uninject.ts';
import { describeObject, type PodSite } from '../inject/workload.ts';
import { isNotFound } from '../kube/api-error.ts';
import type { KubeClient } from '../kube/client.ts';
import { NAMESPACES } from '../kube/core-resources.ts';
import type { CheckFinding, CheckReport } from './check-report.ts';
import { podsOf } from './check-target.ts';
import { type AppliedWebhooks, isForbidden } from './check-webhook.ts';
import { dryRunPod } from './dry-run.ts';

interface Basis {
  readonly decide: DecideOptions;
  readonly state: { readonly set: TemplateSet };
  readonly namespace: string;
}

export interface OfflineBasis extends Basis {
  readonly labels: Readonly<Record<string, string>>;
}

export interface LiveBasis extends Basis {
  readonly client: KubeClient;
  /** Undefined where the user may not read the configuration. */
  readonly webhooks: AppliedWebhooks | undefined;
  /** Whether the object is one of the cluster, and not of a file. */
  readonly exists: boolean;
}

/** What would become of a pod or pod template, by all that can be known without a cluster. */
export function checkOffline(site: PodSite, basis: OfflineBasis): CheckReport {
  return decided(site, fresh(site.pod, basis), basis).report;
}

/** The same, with what the cluster says: its namespace, its webhooks, a dry run, and the pods that exist. */
export async function checkLive(site: PodSite, basis: LiveBasis): Promise<CheckReport> {
  const { client, namespace, webhooks, exists } = basis;
  const labels = await labelsOf(client, namespace);
  const pod = fresh(site.pod, basis);
  const { report, injection, optIn } = decided(site, pod, { ...basis, labels });
  const wanted = injection.outcome === 'injected';
  const webhook = webhooks?.takes(isExplicit(optIn), labels);
  const notTaken =
    wanted && webhooks && webhooks.findings.length === 0 && webhook === undefined
      ? [
          {
            reason: 'not-selected',
            message: `no webhook looks at the pods of namespace ${namespace}: compare its labels with the namespaceSelector of the MutatingWebhookConfiguration`,
          },
        ]
      : [];
  const dryRun = await tryDryRun(client, namespace, pod, wanted, basis);
  const pods = exists ? await existingPods(site, basis, wanted) : { list: undefined, findings: [] };
  return {
    ...report,
    ...(wanted && webhook !== undefined && { webhook }),
    dryRun: dryRun.text,
    ...(pods.list && { pods: pods.list }),
    findings: [
      ...report.findings,
      ...(webhooks?.findings ?? []),
      ...notTaken,
      ...dryRun.findings,
      ...pods.findings,
    ],
  };
}

/** The pod as it would be created: without the sidecar that it may have already. */
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
  const common = { object: describeObject(site.object), namespace };
  if (injection.outcome === 'injected') {
    const templates = injection.status.templates.map(
      ({ name, sha256 }) => `${name} (sha256 ${sha256.slice(0, 12)})`,
    );
    const because = [describeOptIn(optIn, options.keys.optIn)];
    return { report: { ...common, decision: 'inject', because, templates, findings }, injection, optIn };
  }
  const { reason, messages, warn } = injection.skip;
  const denied = injection.outcome === 'denied';
  if (warn || denied) findings.push(...messages.map((message) => ({ reason, message })));
  const because = warn || denied ? [] : messages;
  const decision = denied ? 'deny' : 'skip';
  return { report: { ...common, decision, reason, because, templates: [], findings }, injection, optIn };
}

function describeOptIn(optIn: OptIn, key: string): string {
  if (!('source' in optIn)) return '';
  const who = {
    'pod-label': `the label ${key} of its pod`,
    'pod-annotation': `the annotation ${key} of its pod`,
    'namespace-label': `the label ${key} of its namespace`,
    'all-pods': 'the rule for all pods (--require-annotation=false)',
  }[optIn.source];
  return `${who} says so`;
}

async function labelsOf(client: KubeClient, namespace: string): Promise<Readonly<Record<string, string>>> {
  try {
    return (await client.get(NAMESPACES, { name: namespace })).metadata.labels ?? {};
  } catch (err) {
    // Who may not read it, or has not made it, sees what its pods alone say; its name every namespace has as a label.
    if (isForbidden(err) || isNotFound(err)) return { 'kubernetes.io/metadata.name': namespace };
    throw err;
  }
}

interface DryRunReport {
  readonly text: string;
  readonly findings: readonly CheckFinding[];
}

async function tryDryRun(
  client: KubeClient,
  namespace: string,
  pod: JsonObject,
  wanted: boolean,
  { decide: { keys }, state }: Basis,
): Promise<DryRunReport> {
  const answer = await dryRunPod(client, namespace, asNew(pod)).catch((err: unknown) => {
    if (isForbidden(err)) return undefined;
    throw err;
  });
  if (!answer) return { text: `you may not create pods in namespace ${namespace}`, findings: [] };
  if (!answer.accepted) {
    return {
      text: 'the API server refuses the pod',
      findings: [{ reason: 'refused', message: answer.message }],
    };
  }
  const admitted = isObject(answer.pod) ? answer.pod : {};
  const status = parseStatus(annotation(admitted, keys.status));
  if (!status) {
    const message =
      'the API server admits the pod without its sidecar: the webhook did not answer, or was not asked; look at the log of the injector';
    return {
      text: 'accepted without the sidecar',
      findings: wanted ? [{ reason: 'webhook-silent', message }] : [],
    };
  }
  const current = sidecarState(admitted, keys, state) === 'current';
  const message =
    'the webhook injects another state of the template than the ConfigMap holds: look at its Events';
  return {
    text: current ? 'accepted with the sidecar' : 'accepted with the sidecar of another template',
    findings: current ? [] : [{ reason: 'webhook-behind', message }],
  };
}

/** A pod that may have run, as one to be created: what the server and the scheduler have set is not asked for again. */
function asNew(pod: JsonObject): JsonObject {
  const metadata = own(pod, 'metadata');
  const spec = own(pod, 'spec');
  const { nodeName: _, ...rest } = isObject(spec) ? spec : {};
  const kept = (['labels', 'annotations'] as const).flatMap((key) => {
    const value = own(metadata, key);
    return value === undefined ? [] : [[key, value] as const];
  });
  return { metadata: { generateName: 'envoy-initializer-check-', ...Object.fromEntries(kept) }, spec: rest };
}

async function existingPods(
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
  const again = isPod ? 'create it again' : `kubectl rollout restart, or delete it`;
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
