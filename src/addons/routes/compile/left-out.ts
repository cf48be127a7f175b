/** Part of a file: routes that apply to clients everywhere, or those of the clients’ own namespace. */
export interface Part {
  /** Where the routes are. */
  readonly namespace: string;
  readonly bytes: number;
}

/**
 * Of a file, and of all routes of one namespace. A ConfigMap may have 1 MiB. For each of these bytes, Envoy takes up to
 * 20 of memory, twice while it changes from one file to the next.
 */
export const MAX_BYTES = 1_000_000;

/**
 * A step of a regular expression counts as so many. In Envoy, it takes as much memory as one; to read it here takes as
 * much time as these.
 */
export const STEP_BYTES = 4;

/**
 * So many bytes of what Envoy keeps of a regular expression as it matches texts count as one: 180 MB for all of a file.
 */
export const AUTOMATON_BYTES = 200;

/** Of what one route says. A longer one is not even kept in memory. */
export const MAX_ROUTE_BYTES = 64_000;

/** The largest of these, until the others fit into `room`: so none can take the place of all others. */
export function largestBeyond(sizes: ReadonlyMap<string, number>, room: number): ReadonlyMap<string, number> {
  let excess = -room;
  for (const bytes of sizes.values()) excess += bytes;
  if (excess <= 0) return new Map();
  const out = new Map<string, number>();
  for (const [name, bytes] of [...sizes].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))) {
    if (excess <= 0) break;
    out.set(name, bytes);
    excess -= bytes;
  }
  return out;
}

/** The namespaces whose routes are left out of a file that would be too large. The clients’ own routes stay. */
export function leftOut(parts: readonly Part[], own: string, room: number): ReadonlyMap<string, number> {
  const sizes = new Map<string, number>();
  for (const { namespace, bytes } of parts) sizes.set(namespace, (sizes.get(namespace) ?? 0) + bytes);
  const ownBytes = sizes.get(own) ?? 0;
  sizes.delete(own);
  return largestBeyond(sizes, room - ownBytes);
}

/** Says that the routes of a namespace are left out, and what to do. */
export function leftOutText(namespace: string, bytes: number, clientNamespace: string): string {
  return `the routes that apply in namespace ${clientNamespace} exceed ${MAX_BYTES} bytes, so the ${bytes} bytes of routes in namespace ${namespace} are left out: clients reach the Services there as if they had no routes. Remove routes in ${namespace}`;
}
