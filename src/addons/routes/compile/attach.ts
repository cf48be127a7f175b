import type { ObjectKey } from '../../../kube/api/object.ts';
import { quoteText } from '../../../util/clip.ts';
import type { Target } from './model.ts';
import type { ParentReference, Route, Service, ServicePort, Services } from './route.ts';

/** A port of a Service to which a route is attached. */
export interface AttachedPort {
  readonly service: ObjectKey;
  readonly namespace: string;
  readonly port: number;
  /** The addresses of the Service, of one or both families. */
  readonly addresses: readonly string[];
}

/** What became of one reference to a parent. */
export type Attachment = { readonly reference: ParentReference } & (
  | { readonly ports: readonly AttachedPort[] }
  /** Why there is no parent, or no place for the routes of one. */
  | { readonly missing: string; readonly reason?: 'RoutesTooLarge' | 'UnsupportedValue' | 'Conflicted' }
);

/** Of one route. A Service may have thousands of ports, and a route 32 Services. */
const MAX_PORTS = 128;

const PARENT_FIELDS = ['group', 'kind', 'name', 'namespace', 'port', 'sectionName'];

/** The protocols of an application that are HTTP in plain text. */
const HTTP_PROTOCOLS: ReadonlySet<string | undefined> = new Set([
  ...[undefined, '', 'http', 'http2', 'h2c', 'ws', 'grpc', 'grpc-web'],
  ...['kubernetes.io/h2c', 'kubernetes.io/ws'],
]);

/** A route's references to Services. References to other kinds, such as Gateways, are not ours. */
function serviceReferences({ spec }: Route): readonly ParentReference[] {
  return (spec.parentRefs ?? []).filter(({ group, kind }) => group === '' && kind === 'Service');
}

/** The keys of the Services that are parents of a route. */
export function parentsIn(route: Route): readonly ObjectKey[] {
  const own = route.metadata.namespace;
  return serviceReferences(route).map(({ namespace = own, name }) => `${namespace}/${name}`);
}

/** What became of a route's references to Services. */
export function attach(route: Route, services: Services): readonly Attachment[] {
  let room = MAX_PORTS;
  return serviceReferences(route).map((reference) => {
    const unknown = Object.keys(reference).filter((field) => !PARENT_FIELDS.includes(field));
    if (unknown.length > 0) {
      // It may say that the route is for fewer ports or clients.
      const missing = `parentRefs: the route does not apply to this parent: remove ${unknown.join(', ')}, which the operator does not support`;
      return { reference, missing, reason: 'UnsupportedValue' };
    }
    const namespace = reference.namespace ?? route.metadata.namespace ?? '';
    const key = `${namespace}/${reference.name}`;
    const service = services.get(key);
    const found = addressesOf(service);
    if (service === undefined || 'missing' in found) {
      return { reference, missing: `Service ${key} ${'missing' in found ? found.missing : ''}` };
    }
    const ports = chosenPorts(service, reference);
    if (typeof ports === 'string') return { reference, missing: `Service ${key} ${ports}` };
    if (ports.length > room) {
      const missing = `all ports of Service ${key} would give this route over ${MAX_PORTS}: set port in the parentRef`;
      return { reference, missing, reason: 'RoutesTooLarge' };
    }
    room -= ports.length;
    return { reference, ports: ports.map(({ port }) => ({ service: key, namespace, port, ...found })) };
  });
}

/** The ports to which a route is attached. */
export function portsOf(attachments: readonly Attachment[]): readonly AttachedPort[] {
  return attachments.flatMap((attachment) => ('ports' in attachment ? attachment.ports : []));
}

/** Where a backend is, as `address:port`; or why it is nowhere. */
export function locate(
  { service: key, port }: Target,
  services: Services,
): string | { readonly reason: 'BackendNotFound' | 'UnsupportedProtocol'; readonly message: string } {
  const service = services.get(key);
  const found = addressesOf(service);
  if ('missing' in found) return { reason: 'BackendNotFound', message: `Service ${key} ${found.missing}` };
  const ports = (service?.spec?.ports ?? []).filter((each) => each.port === port);
  const usable = ports.find(isHttp);
  if (usable) return socket(found.addresses[0] ?? '', port);
  const [unusable] = ports;
  if (unusable === undefined)
    return { reason: 'BackendNotFound', message: `Service ${key} has no port ${port}` };
  const message = `port ${port} of Service ${key} is for ${quoteText(protocolOf(unusable))}, not for HTTP`;
  return { reason: 'UnsupportedProtocol', message };
}

/** `10.96.0.7:80` or `[fd00::7]:80`. */
export function socket(address: string, port: number): string {
  return `${address.includes(':') ? `[${address}]` : address}:${port}`;
}

/** The addresses by which clients reach a Service; or why there are none. */
function addressesOf(
  service: Service | undefined,
): { readonly addresses: readonly string[] } | { readonly missing: string } {
  if (service === undefined) return { missing: 'does not exist' };
  const { type, clusterIP, clusterIPs = clusterIP ? [clusterIP] : [] } = service.spec ?? {};
  if (type === 'ExternalName') return { missing: 'is of type ExternalName, which has no address' };
  if (clusterIPs.includes('None')) return { missing: 'is headless, so it has no address' };
  const addresses = clusterIPs.filter((address) => address !== '');
  return addresses.length > 0 ? { addresses } : { missing: 'does not have an address yet' };
}

function chosenPorts(
  service: Service,
  { port, sectionName }: ParentReference,
): readonly ServicePort[] | string {
  const named = (service.spec?.ports ?? []).filter(
    (each) => (port ?? each.port) === each.port && (sectionName ?? each.name) === each.name,
  );
  const ports = named.filter(isHttp);
  if (ports.length > 0) return ports;
  const wanted = [port, sectionName && quoteText(sectionName)].filter(Boolean).join(' ');
  if (named.length === 0) return wanted === '' ? 'has no port' : `has no port ${wanted}`;
  return `has only ports for ${named.map((each) => quoteText(protocolOf(each))).join(', ')}, not for HTTP`;
}

function isHttp({ protocol = 'TCP', appProtocol }: ServicePort): boolean {
  return protocol === 'TCP' && HTTP_PROTOCOLS.has(appProtocol?.toLowerCase());
}

function protocolOf({ protocol = 'TCP', appProtocol }: ServicePort): string {
  return protocol === 'TCP' ? (appProtocol ?? protocol) : protocol;
}

/** Such as `Service default/web port 80`. */
export function portText({ service, port }: AttachedPort): string {
  return `Service ${service} port ${port}`;
}
