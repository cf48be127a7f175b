import { isRecord } from '../util/json.ts';
/** The flags of `serve` that only take effect if the applied webhook configuration agrees. */
export interface SelectionFlags {
  readonly annotation: string;
  readonly initializerName: string;
  readonly requireAnnotation: boolean;
}

interface Webhook {
  readonly name: string;
  readonly conditions: string;
  readonly namespaceSelector: string;
}

/**
 * The flags that have no effect with the applied MutatingWebhookConfiguration, one sentence each. Its selectors and
 * conditions apply in the API server: a process cannot widen them.
 */
export function configurationMismatches(configuration: unknown, flags: SelectionFlags): readonly string[] {
  const { annotation, initializerName, requireAnnotation } = flags;
  const webhooks = webhooksOf(configuration);
  const own = webhooks.find(({ name }) => name === initializerName);
  const namespaces = webhooks.find(({ name }) => name === `namespace.${initializerName}`);
  const limited = namespaces?.namespaceSelector.includes(annotation) ?? true;
  const found: string[] = [];
  if (!own) {
    found.push(
      `no webhook is named ${initializerName} (--initializer-name): the API server does not send pods that opt in themselves`,
    );
  } else if (own.conditions !== '' && !own.conditions.includes(annotation)) {
    found.push(
      `the conditions of webhook ${initializerName} do not name the key ${annotation} (--annotation): the API server does not send pods that have it`,
    );
  }
  if (!requireAnnotation && limited) {
    found.push(
      '--require-annotation=false selects all pods, but the API server sends only namespaces with the opt-in label: apply a configuration without that selector',
    );
  }
  if (requireAnnotation && namespaces && !limited) {
    found.push(
      'the API server sends pods of all namespaces, but pods that do not opt in are not injected: set --require-annotation=false',
    );
  }
  return found;
}

function webhooksOf(configuration: unknown): readonly Webhook[] {
  const webhooks = isRecord(configuration) ? configuration.webhooks : undefined;
  if (!Array.isArray(webhooks)) return [];
  return webhooks.filter(isRecord).map((webhook) => ({
    name: String(webhook.name),
    conditions: webhook.matchConditions === undefined ? '' : JSON.stringify(webhook.matchConditions),
    namespaceSelector: JSON.stringify(webhook.namespaceSelector ?? {}),
  }));
}
