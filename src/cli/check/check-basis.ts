import type { DecideOptions } from '../../injection/rule.ts';
import type { TemplateSet } from '../../injection/template/template-set.ts';
import type { TemplateDryRun } from '../../injection/webhook/template-dry-run.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { NamespaceObjects } from '../namespace-objects.ts';
import type { AppliedWebhooks } from './check-webhook.ts';

/** What the decision about a pod rests on, as the user's rights show it. */
export interface LiveBasis {
  readonly decideOptions: DecideOptions;
  readonly state: { readonly set: TemplateSet };
  readonly namespace: string;
  readonly client: KubeClient;
  readonly objects: NamespaceObjects;
  /** Finds the shapes of pods that the templates do not fit, as the operator does. */
  readonly dryRun: Pick<TemplateDryRun, 'prove'>;
  /** What new pods get outside of the canary until a rollout is promoted; undefined if that is the template itself. */
  readonly promoted: TemplateSet | undefined;
  /** Undefined if the user may not read the configuration. */
  readonly webhooks: AppliedWebhooks | undefined;
  /** Whether admission policies inject pods, also while no replica answers. */
  readonly policies: boolean;
}
