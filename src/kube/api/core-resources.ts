import { SharedValues } from '../util/shared-values.ts';
import { identityOf, type KubeObject } from './object.ts';
import { decodeObject, kindOf, metadataOf, type Resource } from './resource.ts';

/** core/v1 ConfigMap: the fields that the library reads. */
export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

export const CONFIG_MAPS: Resource<ConfigMap> = kindOf('v1', 'ConfigMap');

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

export const SECRETS: Resource<Secret> = kindOf('v1', 'Secret');

export const NAMESPACES = metadataOf('v1', 'Namespace', false);

/** core/v1 LimitRange, without labels and annotations. */
export interface LimitRangeObject extends KubeObject {
  readonly spec?: unknown;
}

export const LIMIT_RANGES: Resource<LimitRangeObject> = {
  ...kindOf('v1', 'LimitRange'),
  decode(value) {
    const object: LimitRangeObject = decodeObject(value);
    return { metadata: identityOf(object), spec: object.spec };
  },
};

export const PODS = kindOf('v1', 'Pod');
/** The same, of which only the metadata is read. */
export const POD_METADATA = metadataOf('v1', 'Pod');

/** core/v1 Node: the fields that the library reads. */
export interface Node extends KubeObject {
  readonly status?: { readonly nodeInfo?: { readonly kubeletVersion?: string } };
}

export const NODES: Resource<Node> = kindOf('v1', 'Node', false);

/** discovery.k8s.io/v1 EndpointSlice: the endpoints of Services. */
export const ENDPOINT_SLICES = kindOf('discovery.k8s.io/v1', 'EndpointSlice');

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

const REGISTRATION = 'admissionregistration.k8s.io/v1';

export const MUTATING_WEBHOOK_CONFIGURATIONS: Resource<WebhookConfiguration> = kindOf(
  REGISTRATION,
  'MutatingWebhookConfiguration',
  false,
);

/** Both kinds: a webhook is registered in one of them. */
export const WEBHOOK_CONFIGURATIONS: readonly Resource<WebhookConfiguration>[] = [
  MUTATING_WEBHOOK_CONFIGURATIONS,
  kindOf(REGISTRATION, 'ValidatingWebhookConfiguration', false),
];
