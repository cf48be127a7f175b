import type { V1Endpoint, V1EndpointSlice } from '@kubernetes/client-node';
import { ENDPOINT_SLICES } from '../../kube/api/core-resources.ts';
import { identityOf, type KubeObject, type ObjectKey } from '../../kube/api/object.ts';
import { decodeObject, kindOf, type Resource } from '../../kube/api/resource.ts';
import { isObject, own, ownObjects, ownString } from '../../util/json.ts';
import { NETWORK_ANNOTATION, SELECTOR_ANNOTATION } from '../api/names.ts';

/** The cached part of a core/v1 Service. */
export interface NamedService extends KubeObject {
  /** The key of the Network whose pods it names by its annotations; both are undefined for other Services. */
  readonly network?: ObjectKey | undefined;
  readonly selector?: string | undefined;
  /** Whether it is headless and has no selector, so that Kubernetes writes no EndpointSlices for it. */
  readonly isFree: boolean;
  readonly publishesNotReady: boolean;
  /** As its slices have them. */
  readonly ports: NetworkSlice['ports'];
}

export const SERVICES: Resource<NamedService> = {
  ...kindOf('v1', 'Service'),
  decode(value) {
    const object = decodeObject(value);
    const spec = own(value, 'spec');
    const selector = own(spec, 'selector');
    const { namespace, annotations = {} } = object.metadata;
    const { [NETWORK_ANNOTATION]: network, [SELECTOR_ANNOTATION]: labels } = annotations;
    return {
      metadata: identityOf(object),
      network: network === undefined || network.includes('/') ? network : `${namespace}/${network}`,
      selector: labels,
      isFree:
        ownString(spec, 'clusterIP') === 'None' &&
        (!isObject(selector) || Object.keys(selector).length === 0),
      publishesNotReady: own(spec, 'publishNotReadyAddresses') === true,
      ports: ownObjects(spec, 'ports').map((port) => ({
        name: ownString(port, 'name') ?? '',
        // The name of a port has another number in each pod: it stands for the port of the Service.
        port: Number([own(port, 'targetPort'), own(port, 'port')].find((each) => typeof each === 'number')),
        protocol: ownString(port, 'protocol') ?? 'TCP',
      })),
    };
  },
};

/** discovery.k8s.io/v1 EndpointSlice of a Network's pods. Only the operator writes it, and puts right what differs. */
export type NetworkSlice = KubeObject & Readonly<Required<Pick<V1EndpointSlice, 'endpoints' | 'ports'>>>;

export const NETWORK_SLICES: Resource<NetworkSlice> = {
  ...ENDPOINT_SLICES,
  decode(value) {
    const object: KubeObject & Partial<NetworkSlice> = decodeObject(value);
    const { endpoints, ports } = object;
    const service = object.metadata.labels?.[SERVICE_LABEL];
    return {
      metadata: {
        ...identityOf(object),
        ...(service !== undefined && { labels: { [SERVICE_LABEL]: service } }),
      },
      ...{ endpoints: endpoints ?? [], ports: ports ?? [] },
    };
  },
};

export const SERVICE_LABEL = 'kubernetes.io/service-name';
export const MANAGED_BY = 'endpointslice.kubernetes.io/managed-by';

/** The part of a slice that the endpoints of a Service decide. */
export type Slice = Pick<NetworkSlice, 'endpoints'> & { readonly name: string; readonly addressType: string };

/** The most endpoints of a slice, as of those of Kubernetes. */
export const MAX_ENDPOINTS = 100;

/** Distributes endpoints over slices, of one family each. */
export function sliced(service: string, endpoints: readonly V1Endpoint[]): readonly Slice[] {
  return ['IPv4', 'IPv6'].flatMap((addressType) => {
    const own = endpoints.filter(
      ({ addresses: [first = ''] }) => first.includes(':') === (addressType === 'IPv6'),
    );
    return Array.from({ length: Math.ceil(own.length / MAX_ENDPOINTS) }, (_, index) => ({
      name: `${service}-network-${addressType.toLowerCase()}-${index}`,
      addressType,
      endpoints: own.slice(index * MAX_ENDPOINTS, (index + 1) * MAX_ENDPOINTS),
    }));
  });
}

/** Parses `key=value,key=value`; undefined for anything else. */
export function parseSelector(text: string): ReadonlyMap<string, string> | undefined {
  const terms = text.split(',').map((term) => /^\s*([^\s=!]+)\s*==?\s*([^\s=!]*)\s*$/.exec(term));
  if (!terms.every((term) => term !== null)) return undefined;
  return new Map(terms.map(([, key = '', value = '']) => [key, value]));
}
