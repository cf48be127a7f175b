import { SharedValues } from '../util/shared-values.ts';
import { identityOf, type KubeObject } from './object.ts';
import { decodeObject, type Resource } from './resource.ts';

/** What the resources of Kubernetes' v1 APIs have in common. The API server has validated their fields. */
export const CORE = { group: '', version: 'v1', namespaced: true, decode: decodeObject };

/** core/v1 ConfigMap: the fields that the library reads. */
export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

export const CONFIG_MAPS: Resource<ConfigMap> = { ...CORE, kind: 'ConfigMap', plural: 'configmaps' };

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

export const SECRETS: Resource<Secret> = { ...CORE, kind: 'Secret', plural: 'secrets' };

export const NAMESPACES: Resource<KubeObject> = {
  ...CORE,
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
  metadataOnly: true,
};

/** core/v1 LimitRange, without labels and annotations. */
export interface LimitRangeObject extends KubeObject {
  readonly spec?: unknown;
}

export const LIMIT_RANGES: Resource<LimitRangeObject> = {
  ...CORE,
  kind: 'LimitRange',
  plural: 'limitranges',
  decode(value) {
    const object: LimitRangeObject = decodeObject(value);
    return { metadata: identityOf(object), spec: object.spec };
  },
};

export const PODS: Resource<KubeObject> = { ...CORE, kind: 'Pod', plural: 'pods' };

/** core/v1 Node: the fields that the library reads. */
export interface Node extends KubeObject {
  readonly status?: { readonly nodeInfo?: { readonly kubeletVersion?: string } };
}

export const NODES: Resource<Node> = { ...CORE, kind: 'Node', plural: 'nodes', namespaced: false };

/** discovery.k8s.io/v1 EndpointSlice: the endpoints of Services. */
export const ENDPOINT_SLICES: Resource<KubeObject> = {
  ...CORE,
  group: 'discovery.k8s.io',
  kind: 'EndpointSlice',
  plural: 'endpointslices',
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

const REGISTRATION = { ...CORE, group: 'admissionregistration.k8s.io', namespaced: false };

export const MUTATING_WEBHOOK_CONFIGURATIONS: Resource<WebhookConfiguration> = {
  ...REGISTRATION,
  kind: 'MutatingWebhookConfiguration',
  plural: 'mutatingwebhookconfigurations',
};

const VALIDATING_WEBHOOK_CONFIGURATIONS: Resource<WebhookConfiguration> = {
  ...REGISTRATION,
  kind: 'ValidatingWebhookConfiguration',
  plural: 'validatingwebhookconfigurations',
};

/** Both kinds: a webhook is registered in one of them. */
export const WEBHOOK_CONFIGURATIONS = [MUTATING_WEBHOOK_CONFIGURATIONS, VALIDATING_WEBHOOK_CONFIGURATIONS];
