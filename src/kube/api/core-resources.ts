import type { KubeObject } from './object.ts';
import { decodeObject, type Resource } from './resource.ts';

/** core/v1 ConfigMap, as far as it is read. */
export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

export const CONFIG_MAPS: Resource<ConfigMap> = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
  // That data maps strings to strings the API server has seen to.
  decode: decodeObject,
};

/** core/v1 Secret, as far as it is read. Values are base64. */
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

export const PODS: Resource<KubeObject> = {
  group: '',
  version: 'v1',
  kind: 'Pod',
  plural: 'pods',
  namespaced: true,
  decode: decodeObject,
};

/** The field selector of pods that have not come to their end: those use and need nothing any more. */
export const LIVE_PODS = 'status.phase!=Succeeded,status.phase!=Failed';

/** admissionregistration.k8s.io/v1, mutating or validating, as far as it is read. */
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

/** Both kinds: what calls a webhook is in one of them. */
export const WEBHOOK_CONFIGURATIONS = [MUTATING_WEBHOOK_CONFIGURATIONS, VALIDATING_WEBHOOK_CONFIGURATIONS];

/** What is left of an object of which nothing but its labels is read. */
export function labelsOnly({ metadata }: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion, labels } = metadata;
  return {
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      ...(uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
      ...(labels !== undefined && { labels }),
    },
  };
}
