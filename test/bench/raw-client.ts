import { readFileSync } from 'node:fs';
import { KubeConfig } from '@kubernetes/client-node';
import { Pool } from 'undici';
import type { KubeObject } from '../../src/kube/api/object.ts';
import { resourcePath } from '../../src/kube/api/resource.ts';
import { NETWORK_FINALIZER } from '../../src/networks/api/names.ts';
import { NETWORK_ATTACHMENT_DEFINITIONS, NETWORKS } from '../../src/networks/api/resources.ts';
import type { Network } from '../../src/networks/api/types.ts';
import type { ControlPlane } from '../env/control-plane/control-plane.ts';
import { eachAtOnce, NAMESPACE, networkNumber } from './networks.ts';

/** What the operator wrote for one Network. */
export interface Written {
  readonly network: Network;
  readonly attachment: KubeObject;
}

/**
 * The floor for bringing the Networks with these numbers to Ready: a program that knows all answers. It sends the operator's three writes for
 * each of them, one after the other, on as many kept connections as the operator has workers.
 */
export async function writeRaw(
  controlPlane: ControlPlane,
  { from, to, workers }: { readonly from: number; readonly to: number; readonly workers: number },
  sample: Written,
): Promise<void> {
  const pool = poolTo(controlPlane, workers);
  const options = 'fieldManager=bench';
  try {
    await eachAtOnce(from, to, workers, async (i) => {
      const { metadata, spec } = networkNumber(i);
      const path = resourcePath(NETWORKS, metadata);
      const finalizers = { metadata: { finalizers: [NETWORK_FINALIZER] } };
      const { uid } = (await send(pool, 'PATCH', `${path}?${options}`, 'merge-patch+json', finalizers))
        .metadata;
      const owner = { ...sample.attachment.metadata.ownerReferences?.[0], name: metadata.name, uid };
      const { name, annotations, labels } = { ...sample.attachment.metadata, name: metadata.name };
      const attachment = {
        ...sample.attachment,
        metadata: { name, namespace: NAMESPACE, labels, annotations, ownerReferences: [owner] },
      };
      const attachments = resourcePath(NETWORK_ATTACHMENT_DEFINITIONS, { namespace: NAMESPACE });
      await send(pool, 'POST', `${attachments}?${options}`, 'json', attachment);
      const { apiVersion, kind } = networkNumber(i);
      const status = { ...sample.network.status, cidr: spec.cidr, gateway: spec.gateway };
      const applied = { apiVersion, kind, metadata, status };
      await send(pool, 'PATCH', `${path}/status?${options}&force=true`, 'apply-patch+yaml', applied);
    });
  } finally {
    await pool.close();
  }
}

function poolTo(controlPlane: ControlPlane, connections: number): Pool {
  const config = new KubeConfig();
  config.loadFromString(readFileSync(controlPlane.kubeconfigPath, 'utf8'));
  const { certData = '', keyData = '' } = config.getCurrentUser() ?? {};
  const connect = { ca: controlPlane.caPem, cert: atob(certData), key: atob(keyData) };
  return new Pool(controlPlane.server, { connections, connect, allowH2: false });
}

async function send(
  pool: Pool,
  method: 'PATCH' | 'POST',
  path: string,
  type: string,
  body: unknown,
): Promise<KubeObject> {
  const headers = { 'content-type': `application/${type}` };
  const response = await pool.request({ method, path, headers, body: JSON.stringify(body) });
  const text = await response.body.text();
  if (response.statusCode > 299) throw new Error(`${method} ${path}: ${response.statusCode} ${text}`);
  return JSON.parse(text);
}
