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
 * What of the flags the applied MutatingWebhookConfiguration will not let take effect, a sentence each. Selectors and
 * conditions live there, in the API server: a process cannot widen them.
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
      `no webhook is named ${initializerName} (--initializer-name): pods that opt in themselves are not sent here`,
    );
  } else if (own.conditions !== '' && !own.conditions.includes(annotation)) {
    found.push(
      `the conditions of webhook ${initializerName} do not name the key ${annotation} (--annotation): pods that carry it are not sent here`,
    );
  }
  if (!requireAnnotation && limited) {
    found.push(
      '--require-annotation=false asks for all pods, but only namespaces with the opt-in label are sent here: apply a configuration without that selector',
    );
  }
  if (requireAnnotation && namespaces && !limited) {
    found.push(
      'pods of all namespaces are sent here, but without --require-annotation=false those that did not opt in are left alone',
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

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
