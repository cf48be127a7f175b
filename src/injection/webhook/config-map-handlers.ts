import type { AdmissionAnswer, AdmissionRequest, ReviewHandler } from '../../kube/admission/review.ts';
import type { Logger } from '../../kube/util/log.ts';
import { clip, counted } from '../../util/clip.ts';
import { formatInText, type TextDiagnostic } from '../../util/diagnostic.ts';
import { own, ownString, stringsIn } from '../../util/json.ts';
import { configurationFaults, WEIGHTS_LABEL, weightFaults } from '../envoy/configuration-faults.ts';
import { parseTemplateConfigMap, type TemplateSet } from '../template/template-set.ts';
import { proofWarnings, type TemplateDryRun } from './template-dry-run.ts';

export interface TemplateHandlerOptions {
  /** Where the template's ConfigMap is. All others are allowed. */
  readonly namespace: string;
  readonly configMap: string;
  readonly dryRun: Pick<TemplateDryRun, 'review'>;
  /** What the templates would do to running pods, in one line; undefined if nothing. */
  readonly forecast: (set: TemplateSet) => string | undefined;
  readonly log: Logger;
}

/**
 * Returns the webhook that rejects invalid templates, so that `kubectl apply` prints the faults and their places: those that
 * the operator knows, and those that the API server finds in a dry run.
 */
export function createTemplateHandler({
  log,
  dryRun,
  forecast,
  ...wanted
}: TemplateHandlerOptions): ReviewHandler {
  return async (request, signal) => {
    const changed = changedConfigMap(request);
    if (changed?.namespace !== wanted.namespace || changed.name !== wanted.configMap)
      return { allowed: true };
    const refuse = (found: readonly TextDiagnostic[]) => {
      const { uid, namespace, name, dryRun } = request;
      log.warn(
        { uid, namespace, name, dryRun, faults: found.map(formatInText) },
        'template refused at admission',
      );
      return refuseConfigMap(wanted.configMap, found, 'the template');
    };
    const parsed = parseTemplateConfigMap(changed.data);
    if ('faults' in parsed) return refuse(parsed.faults);
    const proof = await dryRun.review(parsed.set, signal);
    if (proof.faults.length > 0) return refuse(proof.faults);
    const outlook = forecast(parsed.set);
    return {
      allowed: true,
      warnings: [
        ...parsed.advice.map(formatInText),
        ...proofWarnings(proof),
        ...(outlook === undefined ? [] : [outlook]),
      ],
    };
  };
}

/**
 * The webhook that checks what Envoy reads, in all namespaces. The webhook's matchConditions select the ConfigMaps.
 * It rejects weights by which no request is answered. For an invalid bootstrap it only warns: a newer Envoy may
 * accept what these rules do not know.
 */
export function createEnvoyHandler(): ReviewHandler {
  return async (request) => {
    const changed = changedConfigMap(request);
    if (changed === undefined) return { allowed: true };
    if (changed.labels[WEIGHTS_LABEL] === 'true') {
      const faults = weightFaults(changed.data);
      return faults.length === 0 ? { allowed: true } : refuseConfigMap(changed.name, faults, 'the weights');
    }
    const faults = configurationFaults(changed.data);
    return {
      allowed: true,
      warnings: faults.map((fault) => `Envoy may reject this configuration: ${formatInText(fault)}`),
    };
  };
}

/** The ConfigMap that the request creates or updates; undefined for any other request. */
function changedConfigMap({ kind, operation, subResource, namespace, name, object }: AdmissionRequest) {
  const isChange = (operation === 'CREATE' || operation === 'UPDATE') && subResource === '';
  if (!isChange || kind.group !== '' || kind.kind !== 'ConfigMap') return undefined;
  const metadata = own(object, 'metadata');
  return {
    namespace,
    name: name ?? ownString(metadata, 'name') ?? '',
    labels: stringsIn(own(metadata, 'labels')),
    data: stringsIn(own(object, 'data')),
  };
}

/** Longest key of a ConfigMap, in characters (k8s.io/apimachinery, validation.IsConfigMapKey). */
const MAX_KEY = 253;

/** Rejects the ConfigMap. Clients show the message; kubectl shows the causes instead, one per line. */
function refuseConfigMap(name: string, faults: readonly TextDiagnostic[], what: string): AdmissionAnswer {
  const [first, ...more] = faults.map(formatInText);
  const others = more.length > 0 ? ` (and ${counted(more.length, 'more problem')})` : '';
  const causes = faults.map((fault) => {
    const { source: _, ...rest } = fault;
    return {
      reason: 'FieldValueInvalid',
      field: `data.${clip(fault.source, MAX_KEY)}`,
      message: formatInText({ ...rest, source: '' }),
    };
  });
  return {
    allowed: false,
    code: 422,
    reason: 'Invalid',
    message: `${what} cannot be used: ${first}${others}`,
    details: { kind: 'ConfigMap', name, causes },
  };
}
