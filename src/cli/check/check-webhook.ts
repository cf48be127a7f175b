import { isForbidden, isNotFound } from '../../kube/api/api-error.ts';
import { MUTATING_WEBHOOK_CONFIGURATIONS } from '../../kube/api/core-resources.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { configurationMismatches, type SelectionFlags } from '../../operator/configuration-mismatch.ts';
import { PROGRAM } from '../../util/identity.ts';
import {
  isObject,
  type JsonValue,
  own,
  ownObject,
  ownObjects,
  ownString,
  ownTexts,
} from '../../util/json.ts';
import type { CheckFinding } from './check-report.ts';

/** What the applied MutatingWebhookConfiguration does with the pods of a namespace. */
export interface AppliedWebhooks {
  readonly findings: readonly CheckFinding[];
  /** The webhook for pods that opt in themselves, or for the others; undefined if none selects the namespace. */
  takes(
    explicit: boolean,
    namespaceLabels: Readonly<Record<string, string>>,
  ): { readonly webhook: string; readonly failurePolicy: string } | undefined;
}

/** Reads the configuration; undefined if the user may not. */
export async function appliedWebhooks(
  client: KubeClient,
  question: SelectionFlags,
): Promise<AppliedWebhooks | undefined> {
  let configuration: JsonValue | undefined;
  try {
    const found: unknown = await client.get(MUTATING_WEBHOOK_CONFIGURATIONS, { name: PROGRAM });
    configuration = isObject(found) ? found : undefined;
  } catch (err) {
    if (isForbidden(err)) return undefined;
    if (!isNotFound(err)) throw err;
    const message = `MutatingWebhookConfiguration ${PROGRAM} does not exist, so no pod reaches the webhook: apply the operator's manifests`;
    return { findings: [{ reason: 'no-webhook', message }], takes: () => undefined };
  }
  const webhooks = ownObjects(configuration, 'webhooks');
  const bare = webhooks.filter((webhook) => !ownString(own(webhook, 'clientConfig'), 'caBundle'));
  const messages = [
    ...configurationMismatches(configuration, question),
    ...bare.map(
      (webhook) =>
        `webhook ${ownString(webhook, 'name')} has no caBundle: the API server cannot verify its certificate`,
    ),
  ];
  return {
    findings: messages.map((message) => ({ reason: 'webhook-configuration', message })),
    takes(explicit, namespaceLabels) {
      const name = explicit ? question.initializerName : `namespace.${question.initializerName}`;
      const webhook = webhooks.find((candidate) => ownString(candidate, 'name') === name);
      if (!webhook || !selects(own(webhook, 'namespaceSelector'), namespaceLabels)) return undefined;
      return { webhook: name, failurePolicy: ownString(webhook, 'failurePolicy') ?? 'Fail' };
    },
  };
}

/**
 * Whether a LabelSelector (meta/v1) selects these labels, as the API server evaluates it. An empty one selects all. An
 * unknown operator selects nothing.
 */
export function selects(selector: JsonValue | undefined, labels: Readonly<Record<string, string>>): boolean {
  const labelOf = (key: string) => (Object.hasOwn(labels, key) ? labels[key] : undefined);
  const matchLabels = Object.entries(ownObject(selector, 'matchLabels'));
  return (
    matchLabels.every(([key, value]) => labelOf(key) === value) &&
    ownObjects(selector, 'matchExpressions').every((expression) => {
      const value = labelOf(ownString(expression, 'key') ?? '');
      const listed = value !== undefined && ownTexts(expression, 'values').includes(value);
      switch (ownString(expression, 'operator')) {
        case 'In':
          return listed;
        case 'NotIn':
          return !listed;
        case 'Exists':
          return value !== undefined;
        case 'DoesNotExist':
          return value === undefined;
        default:
          return false;
      }
    })
  );
}
