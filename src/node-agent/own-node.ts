import { readFile } from 'node:fs/promises';
import type { OwnerReference } from '../kube/api/object.ts';

/** Where a pod finds the token of its service account. */
export const TOKEN_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/token';

/**
 * The Node of this pod as an owner, from the claims of the pod's token (Kubernetes 1.30 and newer); undefined outside
 * of a pod. So the agent needs no right to read Nodes.
 */
export async function ownNode(node: string, file = TOKEN_FILE): Promise<OwnerReference | undefined> {
  const claims = claimsOf(await readFile(file, 'utf8').catch(() => ''));
  const { name, uid } = record(record(claims['kubernetes.io']).node);
  if (name !== node || typeof uid !== 'string') return undefined;
  return { apiVersion: 'v1', kind: 'Node', name: node, uid };
}

function claimsOf(token: string): Readonly<Record<string, unknown>> {
  try {
    return record(JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()));
  } catch {
    return {};
  }
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
