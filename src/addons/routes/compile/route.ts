import { type KubeObject, keyOf, type ObjectKey } from '../../../kube/api/object.ts';
import type { Fitting } from '../../../util/shape.ts';

/** The part of a Service that routing reads. */
export interface Service extends KubeObject {
  readonly spec?: {
    readonly type?: string;
    readonly clusterIP?: string;
    readonly clusterIPs?: readonly string[];
    readonly ports?: readonly ServicePort[];
  };
}

export interface ServicePort {
  readonly name?: string;
  readonly port: number;
  readonly protocol?: string;
  readonly appProtocol?: string;
}

/** The services by their keys: a Map, or the index of a cache. */
export type Services = Pick<ReadonlyMap<ObjectKey, Service>, 'get'>;

const NUMBER = 'number';
const STRINGS = ['string'] as const;
const TARGET = {
  'group?': 'string',
  'kind?': 'string',
  name: 'string',
  'namespace?': 'string',
  'port?': NUMBER,
} as const;
const PARENT = { ...TARGET, 'sectionName?': 'string' } as const;
const VALUE = { name: 'string', value: 'string' } as const;
const VALUE_MATCH = { ...VALUE, 'type?': 'string' } as const;
const PATH = { type: 'string', 'replaceFullPath?': 'string', 'replacePrefixMatch?': 'string' } as const;
const HEADERS = { 'add?': [VALUE], 'remove?': STRINGS, 'set?': [VALUE] } as const;
const MIRROR = {
  backendRef: TARGET,
  'fraction?': { 'denominator?': NUMBER, numerator: NUMBER },
  'percent?': NUMBER,
} as const;
const REDIRECT = {
  'hostname?': 'string',
  'path?': PATH,
  'port?': NUMBER,
  'scheme?': 'string',
  'statusCode?': NUMBER,
} as const;
const CORS = {
  'allowCredentials?': 'boolean',
  'allowHeaders?': STRINGS,
  'allowMethods?': STRINGS,
  'allowOrigins?': STRINGS,
  'exposeHeaders?': STRINGS,
  'maxAge?': NUMBER,
} as const;
const FILTER = {
  type: 'string',
  'cors?': CORS,
  'extensionRef?': { group: 'string', kind: 'string', name: 'string' },
  'requestHeaderModifier?': HEADERS,
  'requestMirror?': MIRROR,
  'requestRedirect?': REDIRECT,
  'responseHeaderModifier?': HEADERS,
  'urlRewrite?': { 'hostname?': 'string', 'path?': PATH },
} as const;
const BACKEND = { ...TARGET, 'filters?': [FILTER], 'weight?': NUMBER } as const;
const RULE = { 'backendRefs?': [BACKEND], 'filters?': [FILTER], 'name?': 'string' } as const;
const MATCH = {
  'headers?': [VALUE_MATCH],
  'method?': 'string',
  'path?': { 'type?': 'string', 'value?': 'string' },
  'queryParams?': [VALUE_MATCH],
} as const;
const HTTP_RULE = {
  ...RULE,
  'matches?': [MATCH],
  'retry?': { 'attempts?': NUMBER, 'backoff?': 'string', 'codes?': [NUMBER] },
  'timeouts?': { 'backendRequest?': 'string', 'request?': 'string' },
} as const;
const GRPC_MATCH = {
  'headers?': [VALUE_MATCH],
  'method?': { 'type?': 'string', 'service?': 'string', 'method?': 'string' },
} as const;
const GRPC_RULE = { ...RULE, 'matches?': [GRPC_MATCH] } as const;
const CONDITION = {
  lastTransitionTime: 'string',
  message: 'string',
  'observedGeneration?': NUMBER,
  reason: 'string',
  status: 'string',
  type: 'string',
} as const;
const PARENT_STATUS = { conditions: [CONDITION], controllerName: 'string', parentRef: PARENT } as const;
const SPEC = { 'hostnames?': STRINGS, 'parentRefs?': [PARENT] } as const;
const STATUS = { 'status?': { parents: [PARENT_STATUS] } } as const;
export const CORS_FIELDS = Object.keys(CORS).map((key) => key.replace('?', ''));
/** The shapes of what routing reads of the Gateway API's v1. */
export const HTTP_ROUTE = { spec: { ...SPEC, 'rules?': [HTTP_RULE] }, ...STATUS } as const;
export const GRPC_ROUTE = { spec: { ...SPEC, 'rules?': [GRPC_RULE] }, ...STATUS } as const;

export type ParentReference = Fitting<typeof PARENT>;
export type HTTPRouteRule = Fitting<typeof HTTP_RULE>;
export type HTTPRouteMatch = Fitting<typeof MATCH>;
export type HTTPBackendRef = Fitting<typeof BACKEND>;
export type HTTPRouteFilter = Fitting<typeof FILTER>;
export type HTTPCORSFilter = Fitting<typeof CORS>;
export type HTTPHeaderFilter = Fitting<typeof HEADERS>;
export type HTTPPathModifier = Fitting<typeof PATH>;
/** Of a header or a query parameter. */
export type HTTPValueMatch = Fitting<typeof VALUE_MATCH>;
export type GRPCRouteRule = Fitting<typeof GRPC_RULE>;
export type GRPCRouteMatch = Fitting<typeof GRPC_MATCH>;
export type RouteParentStatus = Fitting<typeof PARENT_STATUS>;
export type RouteCondition = Fitting<typeof CONDITION>;

export type HTTPRoute = KubeObject & Fitting<typeof HTTP_ROUTE>;
/** An HTTPRoute with other matches, and with fewer kinds of filters. */
export type GRPCRoute = KubeObject & Fitting<typeof GRPC_ROUTE> & { readonly kind: typeof GRPC };
export type Route = HTTPRoute | GRPCRoute;

const GRPC = 'GRPCRoute';

export function isGrpcRoute(route: Pick<Route, 'kind'>): route is GRPCRoute {
  return route.kind === GRPC;
}

/** The kind of a route: an HTTPRoute may come without one. */
export function kindOf(route: Pick<Route, 'kind'>): 'HTTPRoute' | 'GRPCRoute' {
  return isGrpcRoute(route) ? GRPC : 'HTTPRoute';
}

/** `namespace/name` of an HTTPRoute, `GRPCRoute namespace/name` of a GRPCRoute: both may have one name. */
export function routeKey(route: Pick<HTTPRoute, 'kind' | 'metadata'>): ObjectKey {
  return route.kind === GRPC ? `${GRPC} ${keyOf(route)}` : keyOf(route);
}

/** With its kind, for messages. */
export function routeText(key: ObjectKey): string {
  return key.includes(' ') ? key : `HTTPRoute ${key}`;
}
