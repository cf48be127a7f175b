import { ENDPOINT_SLICES } from '../../kube/api/core-resources.ts';
import { identityOf, type KubeObject } from '../../kube/api/object.ts';
import { decodeObject, kindOf, type Resource } from '../../kube/api/resource.ts';
import { isObject, own, ownObjects, ownString } from '../../util/json.ts';
import { NETWORK_ANNOTATION, SELECTOR_ANNOTATION } from '../api/names.ts';

/** The cached part of a core/v1 Service. */
export interface NamedService extends KubeObject {
  /** The annotations with which it names pods on a Network; both are undefined for other Services. */
  readonly network?: string | undefined;
  readonly selector?: string | undefined;
  /** Whether it is headless and has no selector, so that Kubernetes writes no EndpointSlices for it. */
  readonly isFree: boolean;
  readonly publishesNotReady: boolean;
  readonly ports: readonly SlicePort[];
}

export interface SlicePort {
  readonly name: string;
  readonly port: number;
  readonly protocol: string;
}

export const SERVICES: Resource<NamedService> = {
  ...kindOf('v1', 'Service'),
  decode(value) {
    const object = decodeObject(value);
    const spec = own(value, 'spec');
    const selector = own(spec, 'selector');
    return {
      metadata: identityOf(object),
      network: object.metadata.annotations?.[NETWORK_ANNOTATION],
      selector: object.metadata.annotations?.[SELECTOR_ANNOTATION],
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

/** An address of a pod on a Network, as a discovery/v1 EndpointSlice has it. */
export interface Endpoint {
  readonly addresses: readonly string[];
  readonly conditions: { readonly ready: boolean; readonly serving: boolean; readonly terminating: boolean };
  readonly hostname?: string;
  readonly nodeName?: string;
  readonly targetRef: {
    readonly kind: 'Pod';
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
  };
}

/** discovery.k8s.io/v1 EndpointSlice of a Network's pods. Only the operator writes it, and puts right what differs. */
export interface NetworkSlice extends KubeObject {
  readonly endpoints: readonly Endpoint[];
  readonly ports: readonly SlicePort[];
}

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
export function sliced(service: string, endpoints: readonly Endpoint[]): readonly Slice[] {
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
