import type { JsonObject } from '../../json/json.ts';
import { ApiError } from '../api/api-error.ts';
import { PODS } from '../api/core-resources.ts';
import { resourcePath } from '../api/resource.ts';
import type { KubeClient } from './client.ts';

/** The answer of the API server to a dry run of a pod, with its admission plugins and webhooks. */
export type DryRun =
  | { readonly accepted: true; readonly pod: unknown }
  | { readonly accepted: false; readonly error: ApiError };

/**
 * Creates a pod as a dry run. Resolves if the API server accepts or refuses the pod. Rejects if the user may not
 * create pods in the namespace, or if the API server does not answer.
 */
export async function dryRunPod(
  client: Pick<KubeClient, 'request'>,
  namespace: string,
  pod: JsonObject,
  signal?: AbortSignal,
): Promise<DryRun> {
  try {
    const query = { dryRun: 'All', fieldValidation: 'Strict' };
    const body = { ...pod, apiVersion: 'v1', kind: 'Pod' };
    const path = resourcePath(PODS, { namespace });
    return { accepted: true, pod: await client.request('POST', path, { query, body, signal }) };
  } catch (error) {
    if (!(error instanceof ApiError) || !isAnswer(error)) throw error;
    return { accepted: false, error };
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
