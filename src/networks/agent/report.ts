import { readFile } from 'node:fs/promises';
import { CONFIG_MAPS } from '../../kube/api/core-resources.ts';
import type { OwnerReference } from '../../kube/api/object.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { OWN_LABELS } from '../../util/identity.ts';
import { own, stringsIn, tryJson } from '../../util/json.ts';
import { NODE_AGENT_FIELD_MANAGER, REPORT_LABEL } from '../api/names.ts';
import { type AgentPod, type NodeReport, REPORT_KEY } from '../nodes/node-report.ts';

export interface ReportWriterOptions {
  readonly client: Pick<KubeClient, 'apply'>;
  /** The agent's namespace. */
  readonly namespace: string;
  /** The name of the node. */
  readonly node: string;
  /** The Node, so that the report is deleted with it; undefined if its UID is not known. */
  readonly owner: () => Promise<OwnerReference | undefined>;
  readonly nowMs: () => number;
}

/** An unchanged report is applied again after this time, in case it was deleted. If it is there, that is no write. */
const REPEAT_MS = 10 * 60_000;

/** Returns what publishes the report of a node, if it has changed, in a ConfigMap with the name of the node. */
export function reportWriter({ client, namespace, node, owner, nowMs }: ReportWriterOptions) {
  let written: { readonly text: string; readonly atMs: number } | undefined;
  return async (report: NodeReport, signal: AbortSignal): Promise<void> => {
    // The order of Networks in a cache means nothing.
    const problems = Object.entries(report.problems).toSorted(([a], [b]) => (a < b ? -1 : 1));
    const text = JSON.stringify({ ...report, problems: Object.fromEntries(problems) });
    const atMs = nowMs();
    if (written?.text === text && atMs - written.atMs < REPEAT_MS) return;
    const found = await owner();
    const object = {
      apiVersion: 'v1',
      kind: CONFIG_MAPS.kind,
      metadata: {
        name: node,
        namespace,
        labels: { ...OWN_LABELS, [REPORT_LABEL]: '' },
        ...(found && { ownerReferences: [found] }),
      },
      data: { [REPORT_KEY]: text },
    };
    const how = { fieldManager: NODE_AGENT_FIELD_MANAGER, force: true, signal };
    await client.apply(CONFIG_MAPS, { namespace, name: node }, object, how);
    written = { text, atMs };
  };
}

/** Where a pod finds the token of its service account. */
export const TOKEN_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/token';

/**
 * The Node of this pod as an owner, from the claims of the pod's token (Kubernetes 1.30 and newer); undefined outside
 * of a pod. So the agent needs no right to read Nodes.
 */
export async function ownNode(node: string, file = TOKEN_FILE): Promise<OwnerReference | undefined> {
  const { name, uid } = await claimed(file, 'node');
  if (name !== node || uid === undefined) return undefined;
  return { apiVersion: 'v1', kind: 'Node', name: node, uid };
}

/** This pod, from the same claims; undefined outside of a pod. */
export async function ownPod(file = TOKEN_FILE): Promise<AgentPod | undefined> {
  const { name, uid } = await claimed(file, 'pod');
  return name !== undefined && uid !== undefined ? { name, uid } : undefined;
}

async function claimed(file: string, what: 'node' | 'pod'): Promise<{ name?: string; uid?: string }> {
  const token = await readFile(file, 'utf8').catch(() => '');
  const claims = tryJson(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
  return stringsIn(own(own(claims, 'kubernetes.io'), what));
}
