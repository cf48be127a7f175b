import { SharedValues } from '../util/shared-values.ts';
import type { KubeObject } from './object.ts';
import { decodeObject, type Resource } from './resource.ts';

/** core/v1 ConfigMap: the fields that the library reads. */
export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

export const CONFIG_MAPS: Resource<ConfigMap> = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
  // The API server has validated that data maps strings to strings.
  decode: decodeObject,
};

const sharedData = new SharedValues();

/** ConfigMaps of which each namespace has a copy: a cache keeps equal data once, and no annotations. */
export const COPIED_CONFIG_MAPS: Resource<ConfigMap> = {
  ...CONFIG_MAPS,
  decode(value) {
    const { metadata, data }: ConfigMap = decodeObject(value);
    const { annotations: _, ...kept } = metadata;
    return { metadata: kept, ...(data && { data: sharedData.of(data) }) };
  },
};

/** core/v1 Secret: the fields that the library reads. Values are base64. */
export interface Secret extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

export const SECRETS: Resource<Secret> = {
  group: '',
  version: 'v1',
  kind: 'Secret',
  plural: 'secrets',
  namespaced: true,
  decode: decodeObject,
};

export const NAMESPACES: Resource<KubeObject> = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
  metadataOnly: true,
  decode: decodeObject,
};

/** core/v1 LimitRange, without labels and annotations. */
export interface LimitRangeObject extends KubeObject {
  readonly spec?: unknown;
}

export const LIMIT_RANGES: Resource<LimitRangeObject> = {
  group: '',
  version: 'v1',
  kind: 'LimitRange',
  plural: 'limitranges',
  namespaced: true,
  decode(value) {
    const { metadata, spec }: LimitRangeObject = decodeObject(value);
    const { name, namespace = '', uid = '', resourceVersion = '' } = metadata;
    return { metadata: { name, namespace, uid, resourceVersion }, spec };
  },
};

export const PODS: Resource<KubeObject> = {
  group: '',
  version: 'v1',
  kind: 'Pod',
  plural: 'pods',
  namespaced: true,
  decode: decodeObject,
};

/** core/v1 Node: the fields that the library reads. */
export interface Node extends KubeObject {
  readonly status?: { readonly nodeInfo?: { readonly kubeletVersion?: string } };
}

export const NODES: Resource<Node> = {
  group: '',
  version: 'v1',
  kind: 'Node',
  plural: 'nodes',
  namespaced: false,
  decode: decodeObject,
};

/** discovery.k8s.io/v1 EndpointSlice: the endpoints of Services. */
export const ENDPOINT_SLICES: Resource<KubeObject> = {
  group: 'discovery.k8s.io',
  version: 'v1',
  kind: 'EndpointSlice',
  plural: 'endpointslices',
  namespaced: true,
  decode: decodeObject,
};

/** The field selector of pods that have not finished: a finished pod uses and needs nothing. */
export const LIVE_PODS = 'status.phase!=Succeeded,status.phase!=Failed';

/** admissionregistration.k8s.io/v1, mutating or validating: the fields that the library reads. */
export interface WebhookConfiguration extends KubeObject {
  readonly webhooks?: readonly {
    readonly name: string;
    /** `caBundle` is base64. */
    readonly clientConfig: { readonly caBundle?: string };
  }[];
}

export const MUTATING_WEBHOOK_CONFIGURATIONS: Resource<WebhookConfiguration> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'MutatingWebhookConfiguration',
  plural: 'mutatingwebhookconfigurations',
  namespaced: false,
  decode: decodeObject,
};

const VALIDATING_WEBHOOK_CONFIGURATIONS: Resource<WebhookConfiguration> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'ValidatingWebhookConfiguration',
  plural: 'validatingwebhookconfigurations',
  namespaced: false,
  decode: decodeObject,
};

/** Both kinds: a webhook is registered in one of them. */
export const WEBHOOK_CONFIGURATIONS = [MUTATING_WEBHOOK_CONFIGURATIONS, VALIDATING_WEBHOOK_CONFIGURATIONS];
