import { named } from '../../injection/dry-run-pod.ts';
import type { Injection } from '../../injection/inject.ts';
import type { NamespaceSettings } from '../../injection/namespace-settings.ts';
import { annotation } from '../../injection/podspec/pod.ts';
import { parseStatus } from '../../injection/status.ts';
import type { TemplateSet } from '../../injection/template/template-set.ts';
import { sidecarState, unmarkedBecause } from '../../injection/webhook/classify.ts';
import { type ApiError, isForbidden } from '../../kube/api/api-error.ts';
import { dryRunPod } from '../../kube/client/dry-run.ts';
import { defined } from '../../util/defined.ts';
import { isObject, type JsonObject, own } from '../../util/json.ts';
import { CALLED_AS } from '../io/terminal.ts';
import type { LiveBasis } from './check-pods.ts';
import type { CheckFinding } from './check-report.ts';

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
  return found.size === 0 ? '' : ` (of the template: ${[...found].join(', ')})`;
}

/** The pod as a new one: without the fields that the API server and the scheduler set. */
function asNew(pod: JsonObject): JsonObject {
  const metadata = own(pod, 'metadata');
  const spec = own(pod, 'spec');
  const { nodeName: _, ...rest } = isObject(spec) ? spec : {};
  const kept = defined({ labels: own(metadata, 'labels'), annotations: own(metadata, 'annotations') });
  return { metadata: { generateName: 'envoy-initializer-check-', ...kept }, spec: rest };
}
