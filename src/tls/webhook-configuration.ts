import type { KubeObject } from '../kube/object.ts';
import { isKubeObject, type Resource } from '../kube/resource.ts';

/** What a Mutating- and a ValidatingWebhookConfiguration have in common, as far as it is read here. */
export interface WebhookConfiguration extends KubeObject {
  readonly webhooks?: readonly {
    readonly name: string;
    /** `caBundle` is base64. */
    readonly clientConfig: { readonly caBundle?: string };
  }[];
}

export const mutatingWebhookConfigurations = webhookConfigurations(
  'MutatingWebhookConfiguration',
  'mutatingwebhookconfigurations',
);

function webhookConfigurations(kind: string, plural: string): Resource<WebhookConfiguration> {
  return {
    group: 'admissionregistration.k8s.io',
    version: 'v1',
    kind,
    plural,
    namespaced: false,
    narrow(value) {
      if (!isKubeObject(value)) throw new TypeError(`expected a ${kind} with a metadata.name`);
      return value;
    },
  };
}
