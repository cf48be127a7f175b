import type { Endpoint } from './resources.ts';

export type AddressType = 'IPv4' | 'IPv6';

/** A slice of the endpoints of a Service. */
export interface Slice {
  readonly name: string;
  readonly addressType: string;
  readonly endpoints: readonly Endpoint[];
}

/** The most endpoints of a slice, as of those of Kubernetes. */
export const MAX_ENDPOINTS = 100;

/**
 * Distributes endpoints of one family over slices. An endpoint stays in its slice, so that a change of one pod changes
 * one slice. Slices without endpoints are left out.
 */
export function sliced(
  service: string,
  addressType: AddressType,
  endpoints: readonly Endpoint[],
  present: readonly Slice[],
): readonly Slice[] {
  const open = new Map(endpoints.map((endpoint) => [idOf(endpoint), endpoint]));
  const slices = present
    .filter((slice) => slice.addressType === addressType)
    .map(({ name, endpoints: before }) => {
      const kept: Endpoint[] = [];
      for (const each of before) {
        const current = open.get(idOf(each));
        if (current === undefined || kept.length === MAX_ENDPOINTS) continue;
        open.delete(idOf(each));
        kept.push(current);
      }
      return { name, addressType, endpoints: kept };
    });
  const names = new Set(present.map(({ name }) => name));
  let [number, current] = [0, slices[0]];
  let next = 1;
  for (const endpoint of open.values()) {
    while (current && current.endpoints.length === MAX_ENDPOINTS) current = slices[next++];
    if (!current) {
      let name = '';
      do name = `${service}-network-${addressType.toLowerCase()}-${number++}`;
      while (names.has(name));
      current = { name, addressType, endpoints: [] };
      slices.push(current);
      next = slices.length;
    }
    current.endpoints.push(endpoint);
  }
  return slices.filter((slice) => slice.endpoints.length > 0);
}

function idOf({ addresses, targetRef }: Endpoint): string {
  return `${targetRef.uid} ${addresses.join()}`;
}

/** Parses `key=value,key=value`; undefined for anything else. */
export function parseSelector(text: string): ReadonlyMap<string, string> | undefined {
  const terms = text.split(',').map((term) => /^\s*([^\s=!]+)\s*==?\s*([^\s=!]*)\s*$/.exec(term));
  if (!terms.every((term) => term !== null)) return undefined;
  return new Map(terms.map(([, key = '', value = '']) => [key, value]));
}
