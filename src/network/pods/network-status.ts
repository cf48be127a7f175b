import { parseAnnotation } from '../../json/annotation-json.ts';
import { isArray, own, ownString } from '../../json/json.ts';
import { isDnsLabel } from '../../podspec/names.ts';
import { MAX_SELECTED } from './selection.ts';

/** A network to which a pod is attached. */
export interface AttachedTo {
  /** `namespace/name` of its NetworkAttachmentDefinition. */
  readonly network: string;
  /** The number of the pod's addresses on it. */
  readonly addresses: number;
}

/**
 * Parses Multus' report on a pod (multi-network specification v1.3, section 4.1.2): its networks, except the
 * cluster's own. Users can write any annotation, so invalid entries are ignored. It returns at most MAX_SELECTED
 * networks, and only names that a Network can have.
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
