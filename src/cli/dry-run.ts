import type { JsonObject } from '../json/json.ts';
import { ApiError } from '../kube/api/api-error.ts';
import { PODS } from '../kube/api/core-resources.ts';
import { resourcePath } from '../kube/api/resource.ts';
import type { KubeClient } from '../kube/client/client.ts';

/** What the API server would do with a pod, admission plugins and webhooks included. */
export type DryRun =
  | { readonly accepted: true; readonly pod: unknown }
  | { readonly accepted: false; readonly message: string };

/**
 * Asks the API server to create a pod without storing it. What it would refuse is an answer; that the user may not
 * create pods there, or that it cannot be asked, rejects.
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

/** 403 is also what quotas, limits and pod security say; only the authorizer speaks of the resource. */
function isAnswer({ status, message }: ApiError): boolean {
  if (status === 403) return !/cannot create resource "pods"/.test(message);
  return status === 400 || status === 404 || status === 422 || isFromWebhook(message);
}

function isFromWebhook(message: string): boolean {
  return message.includes('webhook "');
}
