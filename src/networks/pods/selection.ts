import { parseAnnotation, sizeProblem } from '../../util/annotation-json.ts';
import { quote } from '../../util/clip.ts';
import { isArray, isObject, type JsonObject, ownString } from '../../util/json.ts';

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
