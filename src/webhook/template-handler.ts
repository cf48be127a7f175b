import type { Logger } from 'pino';
import { type Fault, formatFault } from '../inject/fault.ts';
import { isObject, type JsonObject, own } from '../inject/json.ts';
import { parseTemplateSet } from '../inject/template-set.ts';
import type { ReviewHandler, Verdict } from './response.ts';
import type { AdmissionRequest } from './review.ts';

export interface TemplateHandlerOptions {
  /** Where the template's ConfigMap is: no other is looked at. */
  readonly namespace: string;
  readonly configMap: string;
  readonly log: Logger;
}

/** The webhook that keeps faulty templates out of the ConfigMap: `kubectl apply` says what is wrong, and where. */
export function createTemplateHandler({ log, ...wanted }: TemplateHandlerOptions): ReviewHandler {
  return async (request) => {
    if (!isTemplateChange(request, wanted)) return { allowed: true };
    const parsed = parseTemplateSet(stringsOf(own(request.object, 'data')));
    if ('set' in parsed) return { allowed: true, warnings: parsed.advice.map(formatFault) };
    const { uid, namespace, name, dryRun } = request;
    const faults = parsed.faults.map(formatFault);
    log.warn({ uid, namespace, name, dryRun, faults }, 'template refused before it was stored');
    return refusal(parsed.faults, wanted.configMap);
  };
}

function isTemplateChange(
  { kind, operation, subResource, namespace, name, object }: AdmissionRequest,
  wanted: Pick<TemplateHandlerOptions, 'namespace' | 'configMap'>,
): boolean {
  return (
    (operation === 'CREATE' || operation === 'UPDATE') &&
    kind.group === '' &&
    kind.kind === 'ConfigMap' &&
    subResource === '' &&
    namespace === wanted.namespace &&
    (name ?? own(own(object, 'metadata'), 'name')) === wanted.configMap
  );
}

/** Clients show the message; kubectl shows the causes in its place, a line each, if there are any. */
function refusal(faults: readonly Fault[], configMap: string): Verdict {
  const [first, ...more] = faults.map(formatFault);
  const others = more.length > 0 ? ` (and ${more.length} more)` : '';
  const causes = faults.map((fault) => {
    const { source: _, ...rest } = fault;
    return {
      reason: 'FieldValueInvalid',
      field: `data.${fault.source}`,
      message: formatFault({ ...rest, source: '' }),
    };
  });
  return {
    allowed: false,
    code: 422,
    reason: 'Invalid',
    message: `the template cannot be used: ${first}${others}`,
    details: { kind: 'ConfigMap', name: configMap, causes },
  };
}

/** The API server has seen to it that all of them are. */
function stringsOf(data: JsonObject[string] | undefined): Readonly<Record<string, string>> {
  const strings = Object.entries(isObject(data) ? data : {}).filter(([, value]) => typeof value === 'string');
  return Object.fromEntries(strings) as Record<string, string>;
}
