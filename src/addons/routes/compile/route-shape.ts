import { misfit, type Shape } from '../../../util/shape.ts';
import type { GRPCRoute } from './grpc-route.ts';
import type {
  HTTPBackendRef,
  HTTPHeaderFilter,
  HTTPHeaderMatch,
  HTTPPathModifier,
  HTTPRoute,
  HTTPRouteFilter,
  ParentReference,
} from './http-route.ts';

const TARGET = {
  'group?': 'string',
  'kind?': 'string',
  name: 'string',
  'namespace?': 'string',
  'port?': 'number',
} as const;
const PARENT: Shape<ParentReference> = { ...TARGET, 'sectionName?': 'string' };
const VALUE = { name: 'string', value: 'string' } as const;
const MATCH: Shape<HTTPHeaderMatch> = { ...VALUE, 'type?': 'string' };
const PATH: Shape<HTTPPathModifier> = {
  ...{ 'replaceFullPath?': 'string', 'replacePrefixMatch?': 'string', type: 'string' },
};
const HEADERS: Shape<HTTPHeaderFilter> = { 'add?': [VALUE], 'remove?': ['string'], 'set?': [VALUE] };
const FILTER: Shape<HTTPRouteFilter> = {
  'cors?': {
    'allowCredentials?': 'boolean',
    'allowHeaders?': ['string'],
    'allowMethods?': ['string'],
    'allowOrigins?': ['string'],
    'exposeHeaders?': ['string'],
    'maxAge?': 'number',
  },
  'extensionRef?': { group: 'string', kind: 'string', name: 'string' },
  'requestHeaderModifier?': HEADERS,
  'requestMirror?': {
    backendRef: TARGET,
    'fraction?': { 'denominator?': 'number', numerator: 'number' },
    'percent?': 'number',
  },
  'requestRedirect?': {
    ...{
      'hostname?': 'string',
      'path?': PATH,
      'port?': 'number',
      'scheme?': 'string',
      'statusCode?': 'number',
    },
  },
  'responseHeaderModifier?': HEADERS,
  type: 'string',
  'urlRewrite?': { 'hostname?': 'string', 'path?': PATH },
};
const BACKEND: Shape<HTTPBackendRef> = { ...TARGET, 'filters?': [FILTER], 'weight?': 'number' };
/** What is the same in both kinds. */
const SPEC = { 'hostnames?': ['string'], 'parentRefs?': [PARENT] } as const;
const RULE = { 'backendRefs?': [BACKEND], 'filters?': [FILTER], 'name?': 'string' } as const;
const STATUS: Shape<NonNullable<HTTPRoute['status']>> = {
  parents: [
    {
      conditions: [
        {
          lastTransitionTime: 'string',
          message: 'string',
          'observedGeneration?': 'number',
          reason: 'string',
          status: 'string',
          type: 'string',
        },
      ],
      controllerName: 'string',
      parentRef: PARENT,
    },
  ],
};
const HTTP: Shape<Pick<HTTPRoute, 'spec' | 'status'>> = {
  spec: {
    ...SPEC,
    'rules?': [
      {
        ...RULE,
        'matches?': [
          {
            'headers?': [MATCH],
            'method?': 'string',
            'path?': { 'type?': 'string', 'value?': 'string' },
            'queryParams?': [MATCH],
          },
        ],
        'retry?': { 'attempts?': 'number', 'backoff?': 'string', 'codes?': ['number'] },
        'timeouts?': { 'backendRequest?': 'string', 'request?': 'string' },
      },
    ],
  },
  'status?': STATUS,
};
const GRPC: Shape<Pick<GRPCRoute, 'spec' | 'status'>> = {
  spec: {
    ...SPEC,
    'rules?': [
      {
        ...RULE,
        'matches?': [
          {
            'headers?': [MATCH],
            'method?': { 'type?': 'string', 'service?': 'string', 'method?': 'string' },
          },
        ],
      },
    ],
  },
  'status?': STATUS,
};

/**
 * Where a route is not of its type; undefined if it is nowhere. The API server checks this by the CRD, but not what an earlier
 * schema let through: objects stay as they were stored.
 */
export function routeMisfit(kind: 'HTTPRoute' | 'GRPCRoute', route: unknown): string | undefined {
  return misfit(route, kind === 'GRPCRoute' ? GRPC : HTTP, kind);
}
