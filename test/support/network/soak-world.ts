import type { NetworkSpec } from '../../../src/networks/api/types.ts';

/**
 * What a Network of the soak is meant to be. Of ten, seven are fine, one overlaps the one before it, one asks for a
 * provider that is not there, and one has a name that somebody else's attachment has.
 */
export type SoakKind = 'fine' | 'overlapping' | 'unattainable' | 'conflicting';

export interface SoakNetwork {
  readonly namespace: string;
  readonly name: string;
  readonly kind: SoakKind;
  readonly provider: 'multus' | 'neutron';
  /** Of equal block at most one can be Ready. */
  readonly block: number;
}

export const SOAK_NAMESPACES = ['soak-0', 'soak-1', 'soak-2', 'soak-3'] as const;

export function soakNetwork(number: number): SoakNetwork {
  const kinds: Readonly<Record<number, SoakKind>> = { 7: 'overlapping', 8: 'unattainable', 9: 'conflicting' };
  const kind = kinds[number % 10] ?? 'fine';
  return {
    namespace: SOAK_NAMESPACES[number % SOAK_NAMESPACES.length] ?? '',
    name: `net-${number}`,
    kind,
    provider: kind === 'unattainable' ? 'neutron' : 'multus',
    block: kind === 'overlapping' ? number - 1 : number,
  };
}

/** Its spec, in one of two versions, of which the second has another gateway and, on Multus, another MTU. */
export function soakSpec({ kind, provider, block }: SoakNetwork, version: 0 | 1): NetworkSpec {
  const base = `10.${block >> 8}.${block & 255}`;
  const cidr = kind === 'overlapping' ? `${base}.0/25` : `${base}.0/24`;
  // Only Neutron knows that it carries no such packets.
  const mtu = kind === 'unattainable' ? { mtu: 9_000 } : {};
  // The MTU is in the definition, the gateway is not.
  const ofMultus = provider === 'multus' ? { mtu: 1_400 + version } : {};
  return { cidr, gateway: `${base}.${version + 1}`, provider, ...mtu, ...ofMultus };
}

/** Numbers that look random, the same for the same seed (mulberry32). */
export function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
