import type { AdmissionAnswer } from '../../kube/admission/response.ts';
import type { AdmissionRequest } from '../../kube/admission/review.ts';
import { clip } from '../../util/clip.ts';
import { type Fault, formatFault } from '../../util/diagnostic.ts';
import { isObject, type JsonObject, own, ownString } from '../../util/json.ts';

/** A ConfigMap as the request would store it. */
export interface ChangedConfigMap {
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly data: Readonly<Record<string, string>>;
}

/** The ConfigMap that the request creates or updates; undefined for any other request. */
export function changedConfigMap({
  kind,
  operation,
  subResource,
  namespace,
  name,
  object,
}: AdmissionRequest): ChangedConfigMap | undefined {
  const isChange = (operation === 'CREATE' || operation === 'UPDATE') && subResource === '';
  if (!isChange || kind.group !== '' || kind.kind !== 'ConfigMap') return undefined;
  const metadata = own(object, 'metadata');
  return {
    namespace,
    name: name ?? ownString(metadata, 'name') ?? '',
    labels: stringsOf(own(metadata, 'labels')),
    data: stringsOf(own(object, 'data')),
  };
}

/** Longest key of a ConfigMap, in characters (k8s.io/apimachinery, validation.IsConfigMapKey). */
const MAX_KEY = 253;

/** Rejects the ConfigMap. Clients show the message; kubectl shows the causes instead, one per line. */
export function refuseConfigMap(name: string, faults: readonly Fault[], what: string): AdmissionAnswer {
  const [first, ...more] = faults.map(formatFault);
  const others =
    more.length > 0 ? ` (and ${more.length} more ${more.length === 1 ? 'problem' : 'problems'})` : '';
  const causes = faults.map((fault) => {
    const { source: _, ...rest } = fault;
    return {
      reason: 'FieldValueInvalid',
      field: `data.${clip(fault.source, MAX_KEY)}`,
      message: formatFault({ ...rest, source: '' }),
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

/** The entries that are strings. The API server has already rejected all others. */
function stringsOf(data: JsonObject[string] | undefined): Readonly<Record<string, string>> {
  const strings = Object.entries(isObject(data) ? data : {}).filter(([, value]) => typeof value === 'string');
  return Object.fromEntries(strings) as Record<string, string>;
}
