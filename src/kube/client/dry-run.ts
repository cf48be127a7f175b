import type { JsonObject } from '../../util/json.ts';
import { ApiError } from '../api/api-error.ts';
import { PODS } from '../api/core-resources.ts';
import { resourcePath } from '../api/resource.ts';
import type { KubeClient } from './client.ts';
import { readServerVersion } from './server-version.ts';

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
    return { accepted: false, error: await withUnknownFields(error, client, signal) };
  }
}

/** Names the fields that the API server does not have, and its version, as it names fields that it refuses. */
async function withUnknownFields(
  error: ApiError,
  client: Pick<KubeClient, 'request'>,
  signal: AbortSignal | undefined,
): Promise<ApiError> {
  const { status, reason, message } = error;
  const unknown = message.includes('strict decoding error')
    ? message.matchAll(/unknown field "([^"]+)"/g)
    : [];
  const names = [...unknown].map(([, field = '']) => field);
  if (names.length === 0) return error;
  const { gitVersion } = await readServerVersion(client, signal);
  const fields = names.map((field) => ({
    field,
    message: `Kubernetes ${gitVersion} does not have this field`,
  }));
  return new ApiError({ status, reason, message, kind: 'Pod', fields });
}

/** Quotas, limits and pod security also answer 403. Only the authorizer's message names the resource. */
function isAnswer({ status, message }: ApiError): boolean {
  if (status === 403) return !/cannot create resource "pods"/.test(message);
  return status === 400 || status === 404 || status === 422 || message.includes('webhook "');
}
