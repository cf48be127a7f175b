import { type JsonValue, own, ownObjects } from '../util/json.ts';

/** The flags of `serve` that only take effect if the applied webhook configuration agrees. */
export interface SelectionFlags {
  readonly annotation: string;
  /** The name of the webhook for pods with their own opt-in. */
  readonly initializerName: string;
  readonly requireAnnotation: boolean;
}

/**
 * The flags that do not match the applied MutatingWebhookConfiguration, one sentence each. Its selectors and conditions
 * apply in the API server: a process cannot widen them.
 */
export function configurationMismatches(configuration: unknown, flags: SelectionFlags): readonly string[] {
  const { annotation, initializerName, requireAnnotation } = flags;
  const webhooks = ownObjects(configuration, 'webhooks');
  const named = (name: string) => webhooks.find((webhook) => own(webhook, 'name') === name);
  const names = (field: JsonValue | undefined) => JSON.stringify(field ?? {}).includes(annotation);
  const [ofPods, ofNamespaces] = [named(initializerName), named(`namespace.${initializerName}`)];
  const conditions = own(ofPods, 'matchConditions');
  const limited = !ofNamespaces || names(own(ofNamespaces, 'namespaceSelector'));
  const found: string[] = [];
  if (!ofPods) {
    found.push(
      `no webhook is named ${initializerName} (--initializer-name): pods with their own opt-in reach no webhook`,
    );
  } else if (conditions !== undefined && !names(conditions)) {
    found.push(
      `the conditions of webhook ${initializerName} do not name the key ${annotation} (--annotation), so the webhook gets no pods with that key`,
    );
  }
  if (!requireAnnotation && limited) {
    found.push(
      '--require-annotation=false selects all pods, but only pods in namespaces with the opt-in label reach the webhook: apply a configuration without that selector',
    );
  }
  if (requireAnnotation && !limited) {
    found.push(
      'all pods reach the webhook, but only pods that opt in are injected: limit its namespaceSelector, or set --require-annotation=false',
    );
  }
  return found;
}
