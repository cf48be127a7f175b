import { type JsonObject, own, sameJson } from '../../json/json.ts';
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
 * Adds the networks of our annotation to the text of Multus' own, which is kept to the letter as far as it goes:
 * what is named there already is not added again, so that merging twice is merging once.
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
      return { problem: `asks for ${key}, too, but otherwise: write what you want of it in one of the two` };
    }
  }
  if (missing.length === 0) return { text };
  const count = theirs.networks.length + missing.length;
  if (count > MAX_SELECTED) {
    return {
      problem: `names ${theirs.networks.length} networks, ${count} with those of ${NETWORK_ANNOTATION}: write at most ${MAX_SELECTED} in all`,
    };
  }
  const merged = joined(theirs, missing, wanted.form);
  if (merged.length > MAX_SELECTION) {
    return {
      problem: `has ${merged.length} characters with what ${NETWORK_ANNOTATION} adds: write at most ${MAX_SELECTION} in all`,
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

/** Whether the element says all that the other says; both are of one network. */
function says(element: JsonObject, other: JsonObject): boolean {
  return Object.entries(other).every(([key, value]) => {
    const said = own(element, key);
    return key === 'name' || key === 'namespace' || (said !== undefined && sameJson(said, value));
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

/** As the form of names has it. */
function nameOf({ element }: Selected): string {
  const { namespace, name, interface: device } = element;
  return `${namespace === undefined ? '' : `${namespace}/`}${name}${device === undefined ? '' : `@${device}`}`;
}
