import { parseAnnotation } from '../../inject/annotation-json.ts';
import { isArray, own, ownString } from '../../inject/json.ts';

/** A network that a pod is attached to. */
export interface AttachedTo {
  /** `namespace/name` of its NetworkAttachmentDefinition. */
  readonly network: string;
  /** How many addresses the pod has on it. */
  readonly addresses: number;
}

/**
 * Reads what Multus has written on a pod (multi-network specification v1.3, section 4.1.2): the networks that it is
 * attached to, the cluster's own apart. Anything else than that is nothing: anybody can write annotations.
 */
export function parseNetworkStatus(text: string | undefined, podNamespace: string): readonly AttachedTo[] {
  const list = text === undefined ? undefined : parseAnnotation(text);
  if (!isArray(list)) return [];
  const byNetwork = new Map<string, number>();
  for (const entry of list) {
    const name = ownString(entry, 'name');
    if (!name || own(entry, 'default') === true) continue;
    const network = name.includes('/') ? name : `${podNamespace}/${name}`;
    const ips = own(entry, 'ips');
    byNetwork.set(network, (byNetwork.get(network) ?? 0) + (isArray(ips) ? ips.length : 0));
  }
  return Array.from(byNetwork, ([network, addresses]) => ({ network, addresses }));
}
