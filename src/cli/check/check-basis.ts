import type { KubeClient } from '../../kube/client/client.ts';
import type { DecideOptions } from '../../sidecar/decision-input.ts';
import type { TemplateSet } from '../../sidecar/template/template-set.ts';
import type { AppliedWebhooks } from './check-webhook.ts';

/** By what a pod is decided about. */
export interface Basis {
  readonly decide: DecideOptions;
  readonly state: { readonly set: TemplateSet };
  readonly namespace: string;
}

/** With the cluster, as the user sees it. */
export interface LiveBasis extends Basis {
  readonly client: KubeClient;
  /** Undefined where the user may not read the configuration. */
  readonly webhooks: AppliedWebhooks | undefined;
  /** Whether the object is one of the cluster, and not of a file. */
  readonly exists: boolean;
}
