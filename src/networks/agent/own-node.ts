import { readFile } from 'node:fs/promises';
import type { OwnerReference } from '../../kube/api/object.ts';
import type { AgentPod } from '../nodes/node-report.ts';

/** Where a pod finds the token of its service account. */
export const TOKEN_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/token';

/**
 * The Node of this pod as an owner, from the claims of the pod's token (Kubernetes 1.30 and newer); undefined outside
 * of a pod. So the agent needs no right to read Nodes.
 */
export async function ownNode(node: string, file = TOKEN_FILE): Promise<OwnerReference | undefined> {
  const { name, uid } = record((await claimsOf(file)).node);
  if (name !== node || typeof uid !== 'string') return undefined;
  return { apiVersion: 'v1', kind: 'Node', name: node, uid };
}

/** This pod, from the same claims; undefined outside of a pod. */
export async function ownPod(file = TOKEN_FILE): Promise<AgentPod | undefined> {
  const { name, uid } = record((await claimsOf(file)).pod);
  return typeof name === 'string' && typeof uid === 'string' ? { name, uid } : undefined;
}

async function claimsOf(file: string): Promise<Readonly<Record<string, unknown>>> {
  const token = await readFile(file, 'utf8').catch(() => '');
  try {
    const claims = record(JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()));
    return record(claims['kubernetes.io']);
  } catch {
    return {};
  }
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
