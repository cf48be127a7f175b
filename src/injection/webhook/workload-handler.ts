import type { ReviewHandler } from '../../kube/admission/response.ts';
import type { JsonObject } from '../../util/json.ts';
import { inject } from '../inject.ts';
import type { NamespaceSettings } from '../namespace-settings.ts';
import { podCreation } from '../podspec/admission-target.ts';
import { annotation, type Pod } from '../podspec/pod.ts';
import { createdPod, podSites } from '../podspec/workload.ts';
import { unknownTemplate } from '../rules/pod-rules.ts';
import { selectTemplates } from '../template/template-set.ts';
import { type InjectHandlerOptions, podExcess } from './inject-handler.ts';
import { answerTo, oneLine } from './injection-answer.ts';

type WorkloadHandlerOptions = Pick<InjectHandlerOptions, 'decideOptions' | 'templates' | 'namespaceSettings'>;

/**
 * The webhook that warns the author of a workload of what the operator would say about its pods: their controller gets
 * those warnings, and ignores them. The author of a Namespace is warned of templates that do not exist. It rejects nothing.
 */
export function createWorkloadHandler(options: WorkloadHandlerOptions): ReviewHandler {
  return async ({ kind, object, namespace, operation, subResource }, signal) => {
    const isChange = (operation === 'CREATE' || operation === 'UPDATE') && subResource === '';
    if (!isChange || object === undefined) return { allowed: true };
    if (kind.kind === 'Namespace') return { allowed: true, warnings: namespaceWarnings(object, options) };
    const settings = await options.namespaceSettings(namespace, { fresh: false, signal });
    const sites = [...podSites(object)].filter(({ pod }) => podExcess(pod) === undefined);
    const pods = sites.map(({ pod }) => createdPod(object, pod));
    return { allowed: true, warnings: pods.flatMap((pod) => warningsOf(pod, namespace, settings, options)) };
  };
}

/** The templates that a Namespace selects, and that do not exist. */
function namespaceWarnings(
  object: JsonObject,
  { decideOptions: options, templates }: WorkloadHandlerOptions,
): readonly string[] {
  const selected = annotation(object, options.keys.templates);
  const settings = { namespaceLabels: {}, namespaceTemplates: selected };
  const selection = selectTemplates({}, settings, options.keys, templates({}, settings));
  const message = unknownTemplate.find({ ...selection, options });
  return message === undefined
    ? []
    : [`pods of this namespace get no sidecar: ${unknownTemplate.reason}: ${message}`];
}

function warningsOf(
  pod: Pod,
  namespace: string,
  settings: NamespaceSettings,
  { decideOptions: options, templates }: WorkloadHandlerOptions,
): readonly string[] {
  const state = templates(pod, settings);
  const answer = answerTo(inject({ request: podCreation(namespace), pod, ...settings, options, state }));
  return answer.warnings.length > 0 ? [`pods of this workload: ${oneLine(answer)}`] : [];
}
