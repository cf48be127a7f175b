import { isDnsLabel } from '../../injection/podspec/names.ts';
import { quote } from '../../util/clip.ts';
import {
  isArray,
  isObject,
  type JsonObject,
  type JsonValue,
  own,
  ownString,
  sameJson,
} from '../../util/json.ts';
import { parseAnnotation, sizeProblem } from '../../util/text-bounds.ts';
import { NETWORK_ANNOTATION } from '../api/names.ts';

/** A network that an annotation selects. */
export interface Selected {
  readonly namespace: string;
  readonly name: string;
  /** The network in Multus' JSON form, with all its options. */
  readonly element: JsonObject;
}

/** The networks that an annotation selects, in one of Multus' two forms. */
export interface Selection {
  readonly form: 'names' | 'json';
  /** The original text, trimmed. */
  readonly text: string;
  readonly networks: readonly Selected[];
}

/** Replaces the text of an annotation that is too long for a cache. */
export interface Overlong {
  /** Number of characters. */
  readonly length: number;
}

/** What is wrong with an annotation, as the end of a sentence that begins with its key. */
export interface Problem {
  readonly problem: string;
}

/** In characters. Users can write any annotation, and each replica reads those of all pods. */
export const MAX_SELECTION = 32 * 1024;
/** The most networks in Multus' annotation. */
export const MAX_SELECTED = 100;

const ADVICE = 'write the name of a Network such as example-network, or several separated by commas';

/**
 * Parses the two forms of the multi-network specification v1.3, section 4.1.1: comma-separated names (`a`,
 * `namespace/a`, `a@net1`), or a JSON list of objects. It distinguishes them as Multus does. Networks without a
 * namespace are in the pod's namespace. It does not check names and options.
 */
export function parseSelection(text: string | Overlong, podNamespace: string): Selection | Problem {
  const kept = keptSelection(text);
  return typeof kept === 'string' ? parseKept(kept, podNamespace) : overlongProblem(kept);
}

/** What a cache keeps of an annotation: its text, if it is not too long. */
export function keptSelection(text: string | Overlong): string | Overlong {
  return text.length > MAX_SELECTION ? { length: text.length } : text;
}

export function overlongProblem({ length }: Overlong): Problem {
  return { problem: `has ${length} characters: write at most ${MAX_SELECTION}` };
}

function parseKept(text: string, podNamespace: string): Selection | Problem {
  const trimmed = text.trim();
  if (trimmed === '') return { problem: `is empty: ${ADVICE}` };
  const problem = sizeProblem(text);
  if (problem !== undefined) return { problem };
  return /[[{"]/.test(trimmed) ? parseJson(trimmed, podNamespace) : parseNames(trimmed, podNamespace);
}

/** `namespace/name`: the key of the Network, and of its NetworkAttachmentDefinition. */
export function keyOfSelected({ namespace, name }: Selected): string {
  return `${namespace}/${name}`;
}

function parseNames(text: string, podNamespace: string): Selection | Problem {
  const networks: Selected[] = [];
  for (let start = 0; start <= text.length; ) {
    if (networks.length === MAX_SELECTED) return tooMany();
    const comma = text.indexOf(',', start);
    const end = comma === -1 ? text.length : comma;
    const item = text.slice(start, end).trim();
    start = end + 1;
    const parts: readonly (string | undefined)[] = /^(?:([^/@]+)\/)?([^/@]+)(?:@([^/@]+))?$/.exec(item) ?? [];
    // Multus trims each.
    const [, namespace, name, device] = parts.map((part) => part?.trim());
    if (!name) return { problem: `has ${quote(item)}, which is not a name: ${ADVICE}` };
    const element = {
      name,
      ...(namespace && { namespace }),
      ...(device && { interface: device }),
    };
    networks.push({ namespace: namespace || podNamespace, name, element });
  }
  return { form: 'names', text, networks };
}

function parseJson(text: string, podNamespace: string): Selection | Problem {
  const list = parseAnnotation(text);
  if (!isArray(list)) {
    return {
      problem: 'is not a JSON list: write one such as [{"name": "example-network"}], or a plain name',
    };
  }
  if (list.length > MAX_SELECTED) return tooMany();
  const networks: Selected[] = [];
  for (const [index, element] of list.entries()) {
    const name = ownString(element, 'name');
    if (!isObject(element) || !name) {
      return {
        problem: `has no name in [${index}]: write an object such as {"name": "example-network"}`,
      };
    }
    networks.push({ namespace: ownString(element, 'namespace') || podNamespace, name, element });
  }
  return { form: 'json', text, networks };
}

function tooMany(): Problem {
  return { problem: `names more than ${MAX_SELECTED} networks: write fewer` };
}

/**
 * Adds the networks of the operator's annotation to the text of Multus' annotation, which stays as it is. Networks
 * that it already names are not added. Idempotent.
 */
export function mergeNetworks(
  wanted: Selection,
  text: string | undefined,
  podNamespace: string,
): { readonly text: string } | Problem {
  if (text === undefined || text.trim() === '') return { text: wanted.text };
  const theirs = parseSelection(text, podNamespace);
  if ('problem' in theirs) return theirs;
  const present = byKey(theirs.networks);
  const missing: Selected[] = [];
  for (const network of wanted.networks) {
    const key = keyOfSelected(network);
    const namesakes = present.get(key);
    if (!namesakes) missing.push(network);
    else if (!namesakes.some(({ element }) => says(element, network.element))) {
      return { problem: `also asks for ${key}, but with other options: write the options in one of the two` };
    }
  }
  if (missing.length === 0) return { text };
  const count = theirs.networks.length + missing.length;
  if (count > MAX_SELECTED) {
    return {
      problem: `names ${theirs.networks.length} networks, and ${count} with those of ${NETWORK_ANNOTATION}: write at most ${MAX_SELECTED} in total`,
    };
  }
  const merged = joined(theirs, missing, wanted.form);
  if (merged.length > MAX_SELECTION) {
    return {
      problem: `has ${merged.length} characters together with ${NETWORK_ANNOTATION}: write at most ${MAX_SELECTION} in total`,
    };
  }
  return { text: merged };
}

function byKey(networks: readonly Selected[]): ReadonlyMap<string, readonly Selected[]> {
  const found = new Map<string, Selected[]>();
  for (const network of networks) {
    const key = keyOfSelected(network);
    const namesakes = found.get(key);
    if (namesakes) namesakes.push(network);
    else found.set(key, [network]);
  }
  return found;
}

/** Whether the element has all options of the other one. Both are of one network. */
function says(element: JsonObject, other: JsonObject): boolean {
  return Object.entries(other).every(([key, value]) => {
    const present = own(element, key);
    return key === 'name' || key === 'namespace' || (present !== undefined && sameJson(present, value));
  });
}

function joined(theirs: Selection, missing: readonly Selected[], form: Selection['form']): string {
  if (theirs.form === 'names' && form === 'names') return [theirs.text, ...missing.map(nameOf)].join(',');
  const added = missing.map(({ element }) => JSON.stringify(element)).join(',');
  const present =
    theirs.form === 'json' ? theirs.text : JSON.stringify(theirs.networks.map(({ element }) => element));
  const separator = theirs.networks.length === 0 ? '' : ',';
  return `${present.slice(0, -1).trimEnd()}${separator}${added}]`;
}

/** The network in the form of names. */
function nameOf({ element }: Selected): string {
  const { namespace, name, interface: device } = element;
  return `${namespace === undefined ? '' : `${namespace}/`}${name}${device === undefined ? '' : `@${device}`}`;
}

/** The most addresses that a pod may ask for on one Network. */
export const MAX_ADDRESSES = 32;
/** The longest IPv6 address has 45 characters, and its prefix 4. */
export const MAX_ADDRESS = 49;

/** The addresses that the element of an annotation asks for. */
export function ipsOf(element: JsonObject): readonly string[] {
  return keptIps(own(element, 'ips'));
}

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

/** The annotation with these options of networks, by their place; in the JSON form, if there are any. */
export function withOptions({ text, networks }: Selection, given: ReadonlyMap<number, JsonObject>): string {
  if (given.size === 0) return text;
  return JSON.stringify(networks.map(({ element }, index) => ({ ...element, ...given.get(index) })));
}
