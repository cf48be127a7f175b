// Generated from gateway.networking.k8s.io_httproutes.yaml by `node hack/generate-types.ts`: do not edit.

import type { ObjectMeta } from './objects.ts';

export interface HTTPRoute {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly spec: {
    readonly hostnames?: readonly string[];
    readonly parentRefs?: readonly ParentReference[];
    readonly rules?: readonly HTTPRouteRule[];
  };
  readonly status?: {
    readonly parents: readonly RouteParentStatus[];
  };
}
export interface ParentReference {
  readonly group?: string;
  readonly kind?: string;
  readonly name: string;
  readonly namespace?: string;
  readonly port?: number;
  readonly sectionName?: string;
}
export interface HTTPRouteRule {
  readonly backendRefs?: readonly HTTPBackendRef[];
  readonly filters?: readonly HTTPRouteFilter[];
  readonly matches?: readonly HTTPRouteMatch[];
  readonly name?: string;
  readonly retry?: {
    readonly attempts?: number;
    readonly backoff?: string;
    readonly codes?: readonly number[];
  };
  readonly timeouts?: {
    readonly backendRequest?: string;
    readonly request?: string;
  };
}
export interface HTTPBackendRef {
  readonly filters?: readonly HTTPRouteFilter[];
  readonly group?: string;
  readonly kind?: string;
  readonly name: string;
  readonly namespace?: string;
  readonly port?: number;
  readonly weight?: number;
}
export interface HTTPRouteFilter {
  readonly cors?: {
    readonly allowCredentials?: boolean;
    readonly allowHeaders?: readonly string[];
    readonly allowMethods?: (
      'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE' | 'CONNECT' | 'OPTIONS' | 'TRACE' | 'PATCH' | '*'
    )[];
    readonly allowOrigins?: readonly string[];
    readonly exposeHeaders?: readonly string[];
    readonly maxAge?: number;
  };
  readonly extensionRef?: {
    readonly group: string;
    readonly kind: string;
    readonly name: string;
  };
  readonly requestHeaderModifier?: HTTPHeaderFilter;
  readonly requestMirror?: HTTPRequestMirrorFilter;
  readonly requestRedirect?: HTTPRequestRedirectFilter;
  readonly responseHeaderModifier?: HTTPHeaderFilter;
  readonly type:
    | 'RequestHeaderModifier'
    | 'ResponseHeaderModifier'
    | 'RequestMirror'
    | 'RequestRedirect'
    | 'URLRewrite'
    | 'ExtensionRef'
    | 'CORS';
  readonly urlRewrite?: HTTPURLRewriteFilter;
}
export interface HTTPHeaderFilter {
  readonly add?: readonly HTTPHeader[];
  readonly remove?: readonly string[];
  readonly set?: readonly HTTPHeader[];
}
export interface HTTPHeader {
  readonly name: string;
  readonly value: string;
}
export interface HTTPRequestMirrorFilter {
  readonly backendRef: {
    readonly group?: string;
    readonly kind?: string;
    readonly name: string;
    readonly namespace?: string;
    readonly port?: number;
  };
  readonly fraction?: {
    readonly denominator?: number;
    readonly numerator: number;
  };
  readonly percent?: number;
}
export interface HTTPRequestRedirectFilter {
  readonly hostname?: string;
  readonly path?: HTTPPathModifier;
  readonly port?: number;
  readonly scheme?: 'http' | 'https';
  readonly statusCode?: 301 | 302 | 303 | 307 | 308;
}
export interface HTTPPathModifier {
  readonly replaceFullPath?: string;
  readonly replacePrefixMatch?: string;
  readonly type: 'ReplaceFullPath' | 'ReplacePrefixMatch';
}
export interface HTTPURLRewriteFilter {
  readonly hostname?: string;
  readonly path?: HTTPPathModifier;
}
export interface HTTPRouteMatch {
  readonly headers?: readonly HTTPHeaderMatch[];
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE' | 'CONNECT' | 'OPTIONS' | 'TRACE' | 'PATCH';
  readonly path?: {
    readonly type?: 'Exact' | 'PathPrefix' | 'RegularExpression';
    readonly value?: string;
  };
  readonly queryParams?: readonly HTTPQueryParamMatch[];
}
export interface HTTPHeaderMatch {
  readonly name: string;
  readonly type?: 'Exact' | 'RegularExpression';
  readonly value: string;
}
export interface HTTPQueryParamMatch {
  readonly name: string;
  readonly type?: 'Exact' | 'RegularExpression';
  readonly value: string;
}
export interface RouteParentStatus {
  readonly conditions: readonly RouteCondition[];
  readonly controllerName: string;
  readonly parentRef: ParentReference;
}
export interface RouteCondition {
  readonly lastTransitionTime: string;
  readonly message: string;
  readonly observedGeneration?: number;
  readonly reason: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly type: string;
}
