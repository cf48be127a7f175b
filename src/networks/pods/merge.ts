import { type JsonObject, own, sameJson } from '../../util/json.ts';
import { NETWORK_ANNOTATION } from '../api/names.ts';
import {
  keyOfSelected,
  MAX_SELECTED,
  MAX_SELECTION,
  type Problem,
  parseSelection,
  type Selected,
  type Selection,
} from './selection.ts';

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
