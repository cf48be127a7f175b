import { isDnsLabel } from '../../injection/podspec/names.ts';
import { quote } from '../../util/clip.ts';
import {
  isArray,
  isObject,
  type JsonArray,
  type JsonObject,
  own,
  ownString,
  ownTexts,
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

/** The networks that an annotation selects. */
export interface NetworkSelection {
  /** The original text, trimmed. */
  readonly text: string;
  readonly networks: readonly Selected[];
}

/** What is wrong with an annotation, as the end of a sentence that begins with its key. */
export interface Problem {
  readonly problem: string;
}

/** In characters. Users can write any annotation, and each replica reads those of all pods. */
export const MAX_SELECTION = 32 * 1024;
/** The most networks in Multus' annotation. */
export const MAX_SELECTED = 100;

const ADVICE = 'use the name of a Network such as example-network, or several separated by commas';

/**
 * Parses the two forms of the multi-network specification v1.3, section 4.1.1: comma-separated names (`a`,
 * `namespace/a`, `a@net1`), or a JSON list of objects. It distinguishes them as Multus does. Networks without a
 * namespace are in the pod's namespace. It does not check names and options.
 */
export function parseSelection(text: string | Problem, podNamespace: string): NetworkSelection | Problem {
  const kept = keptSelection(text);
  if (typeof kept !== 'string') return kept;
  const trimmed = kept.trim();
  if (trimmed === '') return { problem: `is empty: ${ADVICE}` };
  const problem = sizeProblem(kept);
  if (problem !== undefined) return { problem };
  const elements = /[[{"]/.test(trimmed) ? elementsIn(trimmed) : elementsOfNames(trimmed);
  if ('problem' in elements) return elements;
  if (elements.length > MAX_SELECTED) {
    return { problem: `names more than ${MAX_SELECTED} networks: use fewer` };
  }
  const networks: Selected[] = [];
  for (const [index, element] of elements.entries()) {
    const name = ownString(element, 'name');
    if (!isObject(element) || !name) {
      return { problem: `has no name in [${index}]: use an object such as {"name": "example-network"}` };
    }
    networks.push({ namespace: ownString(element, 'namespace') || podNamespace, name, element });
  }
  return { text: trimmed, networks };
}

/** What a cache keeps of an annotation: its text, or that it is too long. */
export function keptSelection(text: string | Problem): string | Problem {
  if (typeof text !== 'string' || text.length <= MAX_SELECTION) return text;
  return { problem: `has ${text.length} characters: use at most ${MAX_SELECTION}` };
}

/** `namespace/name`: the key of the Network, and of its NetworkAttachmentDefinition. */
export function keyOfSelected({ namespace, name }: Selected): string {
  return `${namespace}/${name}`;
}

function elementsOfNames(text: string): readonly JsonObject[] | Problem {
  const elements: JsonObject[] = [];
  for (const item of text.split(',', MAX_SELECTED + 1)) {
    const parts: readonly (string | undefined)[] =
      /^(?:([^/@]+)\/)?([^/@]+)(?:@([^/@]+))?$/.exec(item.trim()) ?? [];
    // Multus trims each.
    const [, namespace, name, device] = parts.map((part) => part?.trim());
    if (!name) return { problem: `has ${quote(item.trim())}, which is not a name: ${ADVICE}` };
    elements.push({ name, ...(namespace && { namespace }), ...(device && { interface: device }) });
  }
  return elements;
}

function elementsIn(text: string): JsonArray | Problem {
  const list = parseAnnotation(text);
  if (isArray(list)) return list;
  return { problem: 'is not a JSON list: use one such as [{"name": "example-network"}], or a plain name' };
}

/**
 * Adds the networks of the operator's annotation to the text of Multus' annotation. Networks that it already names are
 * not added. Idempotent.
 */
export function mergeNetworks(
  wanted: NetworkSelection,
  text: string | undefined,
  podNamespace: string,
): { readonly text: string } | Problem {
  if (text === undefined || text.trim() === '') return { text: wanted.text };
  const theirs = parseSelection(text, podNamespace);
  if ('problem' in theirs) return theirs;
  const missing: Selected[] = [];
  for (const network of wanted.networks) {
    const key = keyOfSelected(network);
    const namesakes = theirs.networks.filter((each) => keyOfSelected(each) === key);
    if (namesakes.length === 0) missing.push(network);
    else if (!namesakes.some(({ element }) => says(element, network.element))) {
      return {
        problem: `asks for ${key} with other options than ${NETWORK_ANNOTATION}: keep one set of options`,
      };
    }
  }
  if (missing.length === 0) return { text };
  const all = [...theirs.networks, ...missing].map(({ element }) => element);
  const merged = JSON.stringify(all);
  const inTotal = (has: string, most: number) => ({ problem: `${has}: use at most ${most} in total` });
  if (all.length > MAX_SELECTED) {
    const has = `names ${theirs.networks.length} networks, and ${all.length} with those in ${NETWORK_ANNOTATION}`;
    return inTotal(has, MAX_SELECTED);
  }
  return merged.length > MAX_SELECTION
    ? inTotal(`has ${merged.length} characters together with ${NETWORK_ANNOTATION}`, MAX_SELECTION)
    : { text: merged };
}

/** Whether the element has all options of the other one. Both are of one network. */
function says(element: JsonObject, other: JsonObject): boolean {
  return Object.entries(other).every(([key, value]) => {
    const present = own(element, key);
    return key === 'name' || key === 'namespace' || (present !== undefined && sameJson(present, value));
  });
}

/** The most addresses that a pod may ask for on one Network. */
export const MAX_ADDRESSES = 32;
/** The longest IPv6 address has 45 characters, and its prefix 4. */
export const MAX_ADDRESS = 49;

/** The addresses that the element of an annotation asks for. */
export function ipsOf(element: JsonObject): readonly string[] {
  return keptIps(ownTexts(element, 'ips'));
}

/** A network to which a pod is attached. */
export interface AttachedTo {
  /** `namespace/name` of its NetworkAttachmentDefinition. */
  readonly network: string;
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
    byNetwork.set(network, keptIps([...(byNetwork.get(network) ?? []), ...ownTexts(entry, 'ips')]));
  }
  return Array.from(byNetwork, ([network, ips]) => ({ network, ips }));
}

/** The texts that can be addresses. Users can write any number of them, and a cache keeps a few. */
function keptIps(ips: readonly string[]): readonly string[] {
  return ips.filter(({ length }) => length <= MAX_ADDRESS).slice(0, MAX_ADDRESSES);
}

/** Whether a Network can have this key: its name and its namespace are DNS labels. */
export function isNetworkKey(key: string): boolean {
  const slash = key.indexOf('/');
  return isDnsLabel(key.slice(0, slash)) && isDnsLabel(key.slice(slash + 1));
}

/** The annotation with these options of networks, by their place; in the JSON form, if there are any. */
export function withOptions(
  { text, networks }: NetworkSelection,
  given: ReadonlyMap<number, JsonObject>,
): string {
  if (given.size === 0) return text;
  return JSON.stringify(networks.map(({ element }, index) => ({ ...element, ...given.get(index) })));
}
