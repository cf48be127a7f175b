import type { JsonObject } from '../json/json.ts';
import { ApiError } from '../kube/api/api-error.ts';
import { PODS } from '../kube/api/core-resources.ts';
import { resourcePath } from '../kube/api/resource.ts';
import type { KubeClient } from '../kube/client/client.ts';

/** The answer of the API server to a dry run of a pod, with its admission plugins and webhooks. */
export type DryRun =
  | { readonly accepted: true; readonly pod: unknown }
  | { readonly accepted: false; readonly message: string };

/**
 * Creates a pod as a dry run. Resolves if the API server accepts or refuses the pod. Rejects if the user may not
 * create pods in the namespace, or if the API server does not answer.
 */
export async function dryRunPod(client: KubeClient, namespace: string, pod: JsonObject): Promise<DryRun> {
  try {
    const query = { dryRun: 'All', fieldValidation: 'Strict' };
    const body = { ...pod, apiVersion: 'v1', kind: 'Pod' };
    return {
      accepted: true,
      pod: await client.request('POST', resourcePath(PODS, { namespace }), { query, body }),
    };
  } catch (err) {
    if (!(err instanceof ApiError) || !isAnswer(err)) throw err;
    return { accepted: false, message: err.message };
  }
}

/** Quotas, limits and pod security also answer 403. Only the authorizer's message names the resource. */
function isAnswer({ status, message }: ApiError): boolean {
  if (status === 403) return !/cannot create resource "pods"/.test(message);
  return status === 400 || status === 404 || status === 422 || isFromWebhook(message);
}

function isFromWebhook(message: string): boolean {
  return message.includes('webhook "');
}
