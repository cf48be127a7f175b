import { isArray, type JsonObject, own, ownString } from '../../util/json.ts';
import type { Allocations, Holder } from './allocations.ts';

/** The networks in Multus' annotation of a pod, in one of its two forms. */
export interface Request {
  readonly form: 'names' | 'json';
  readonly text: string;
  readonly networks: readonly { readonly element: JsonObject }[];
}

/** The key of a network in Multus' annotation that names an IPAMClaim of the pod's namespace. */
export const CLAIM_KEY = 'ipam-claim-reference';

/** What a pod wants of a network in the annotation. */
export interface AddressRequest {
  /** The place of the network in the annotation. */
  readonly index: number;
  /** The key of the Network. */
  readonly network: string;
  /** The addresses that the pod must have; empty for any. */
  readonly ips: readonly string[];
  /** Another holder that may have the same addresses. */
  readonly sharedWith?: string | undefined;
}

/** Why a pod must wait for an address. */
export interface Refusal {
  readonly reason: 'WaitsForNetwork' | 'InvalidNetworkAnnotation' | 'AddressesExhausted';
  /** A sentence without a full stop. */
  readonly why: string;
}

/** The addresses that the element of an annotation asks for. */
export function ipsOf(element: JsonObject): readonly string[] {
  const ips = own(element, 'ips');
  return isArray(ips) ? ips.filter((ip) => typeof ip === 'string') : [];
}

/** The name of the IPAMClaim that the element of an annotation refers to. */
export function claimOf(element: JsonObject): string | undefined {
  return ownString(element, CLAIM_KEY) || undefined;
}

/**
 * Gives the holder what it wants on a Network, in its allocations. Returns the addresses as CNI plugins expect them. After a
 * refusal the allocations has not changed.
 */
export function give(
  allocations: Allocations,
  holder: Holder,
  { network, ips, sharedWith = holder.id }: AddressRequest,
): readonly string[] | Refusal {
  if (ips.length === 0) {
    const why = `Network ${network} has no free address, ${allocations.taken} of ${allocations.total} are taken: delete pods on it, or use another Network`;
    return allocations.give(holder) ?? { reason: 'AddressesExhausted', why };
  }
  for (const ip of ips) {
    const problem = allocations.problemOf(ip);
    if (problem !== undefined) {
      const why = `it asks for ${ip} on Network ${network}, which ${problem}: recreate the pod with another address, or none`;
      return { reason: 'InvalidNetworkAnnotation', why };
    }
    const other = allocations.holdersOf(ip).find(({ id }) => id !== holder.id && id !== sharedWith);
    if (other) return { reason: 'WaitsForNetwork', why: `${ip} of Network ${network} is of ${other.name}` };
  }
  allocations.add(holder, ips);
  return ips.map((ip) => allocations.withPrefix(ip));
}

/** The annotation with these addresses, by the place of the network. All else stays to the letter. */
export function withAddresses(
  { form, text, networks }: Request,
  given: ReadonlyMap<number, readonly string[]>,
): string {
  if (given.size === 0) return text;
  const elements = networks.map(({ element }, index) => {
    const ips = given.get(index);
    return JSON.stringify(ips ? { ...element, ips } : element);
  });
  if (form === 'names') return `[${elements.join(',')}]`;
  let result = '';
  let end = 0;
  spansOf(text).forEach(([from, to], index) => {
    const ips = given.get(index);
    result += text.slice(end, from);
    const element = text.slice(from, to);
    end = to;
    if (!ips) result += element;
    else if (own(networks[index]?.element, 'ips') !== undefined) result += elements[index] ?? element;
    else result += `${element.slice(0, -1).trimEnd()},"ips":${JSON.stringify(ips)}}`;
  });
  return result + text.slice(end);
}

/** The annotation with these options of networks, by their place, in the JSON form. */
export function withOptions({ text, networks }: Request, given: ReadonlyMap<number, JsonObject>): string {
  if (given.size === 0) return text;
  return JSON.stringify(networks.map(({ element }, index) => ({ ...element, ...given.get(index) })));
}

/** The start and the end of each object in the text of a JSON list of objects. */
function spansOf(text: string): readonly (readonly [number, number])[] {
  const spans: (readonly [number, number])[] = [];
  let [depth, start] = [0, 0];
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]/g)) {
    if (token === '{' || token === '[') {
      if (depth === 1) start = index;
      depth += 1;
    } else if (token === '}' || token === ']') {
      depth -= 1;
      if (depth === 1) spans.push([start, index + 1]);
    }
  }
  return spans;
}
