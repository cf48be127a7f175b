import { parseAnnotation } from '../../json/annotation-json.ts';
import { isArray, own, ownString } from '../../json/json.ts';
import { isDnsLabel } from '../../podspec/names.ts';
import { MAX_SELECTED } from './selection.ts';

/** A network that a pod is attached to. */
export interface AttachedTo {
  /** `namespace/name` of its NetworkAttachmentDefinition. */
  readonly network: string;
  /** How many addresses the pod has on it. */
  readonly addresses: number;
}

/**
 * Reads what Multus has written on a pod (multi-network specification v1.3, section 4.1.2): the networks that it is
 * attached to, the cluster's own apart. Anything else than that is nothing: anybody can write annotations. No more networks
 * are kept than Multus may be told of, and no name that a Network cannot have.
 */
export function parseNetworkStatus(text: string | undefined, podNamespace: string): readonly AttachedTo[] {
  const list = text === undefined ? undefined : parseAnnotation(text);
  if (!isArray(list)) return [];
  const byNetwork = new Map<string, number>();
  for (const entry of list) {
    const name = ownString(entry, 'name');
    if (!name || own(entry, 'default') === true) continue;
    const network = name.includes('/') ? name : `${podNamespace}/${name}`;
    if (!isNetworkKey(network)) continue;
    if (byNetwork.size === MAX_SELECTED && !byNetwork.has(network)) break;
    const ips = own(entry, 'ips');
    byNetwork.set(network, (byNetwork.get(network) ?? 0) + (isArray(ips) ? ips.length : 0));
  }
  return Array.from(byNetwork, ([network, addresses]) => ({ network, addresses }));
}

/** Whether a Network can have this key: its name and its namespace are DNS labels. */
export function isNetworkKey(key: string): boolean {
  const slash = key.indexOf('/');
  return isDnsLabel(key.slice(0, slash)) && isDnsLabel(key.slice(slash + 1));
}
