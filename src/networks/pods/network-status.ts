import { isDnsLabel } from '../../injection/podspec/names.ts';
import { parseAnnotation } from '../../util/annotation-json.ts';
import { isArray, type JsonValue, own, ownString } from '../../util/json.ts';
import { MAX_SELECTED } from './selection.ts';

/** The most addresses that a pod may ask for on one Network. */
export const MAX_ADDRESSES = 32;
/** The longest IPv6 address has 45 characters, and its prefix 4. */
export const MAX_ADDRESS = 49;

/** A network to which a pod is attached. */
export interface AttachedTo {
  /** `namespace/name` of its NetworkAttachmentDefinition. */
  readonly network: string;
  /** The pod's addresses on it. */
  readonly ips: readonly string[];
}

/**
 * Parses Multus' report on a pod (multi-network specification v1.3, section 4.1.2): its networks, except the
 * cluster's own. Users can write any annotation, so invalid entries are ignored. It returns at most MAX_SELECTED
 * networks, and only names that a Network can have.
 */
export function parseNetworkStatus(text: string | undefined, podNamespace: string): readonly AttachedTo[] {
  const list = text === undefined ? undefined : parseAnnotation(text);
  if (!isArray(list)) return [];
  const byNetwork = new Map<string, readonly string[]>();
  for (const entry of list) {
    const name = ownString(entry, 'name');
    if (!name || own(entry, 'default') === true) continue;
    const network = name.includes('/') ? name : `${podNamespace}/${name}`;
    if (!isNetworkKey(network)) continue;
    if (byNetwork.size === MAX_SELECTED && !byNetwork.has(network)) break;
    byNetwork.set(network, keptIps([...(byNetwork.get(network) ?? []), ...keptIps(own(entry, 'ips'))]));
  }
  return Array.from(byNetwork, ([network, ips]) => ({ network, ips }));
}

/** The texts of a list that can be addresses. Users can write any number of them, and a cache keeps a few. */
export function keptIps(ips: JsonValue | undefined): readonly string[] {
  if (!isArray(ips)) return [];
  return ips
    .filter((ip) => typeof ip === 'string')
    .filter(({ length }) => length <= MAX_ADDRESS)
    .slice(0, MAX_ADDRESSES);
}

/** Whether a Network can have this key: its name and its namespace are DNS labels. */
export function isNetworkKey(key: string): boolean {
  const slash = key.indexOf('/');
  return isDnsLabel(key.slice(0, slash)) && isDnsLabel(key.slice(slash + 1));
}
