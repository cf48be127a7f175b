/** Part of a file: routes that apply to clients everywhere, or those of the clients’ own namespace. */
export interface Part {
  /** Where the routes are. */
  readonly namespace: string;
  readonly bytes: number;
}

/** A ConfigMap may have 1 MiB. From this size on, a file may shrink but not grow. */
export const MAX_BYTES = 900_000;

/**
 * The namespaces whose routes are left out of a file that would be too large, and their bytes: the largest first, until
 * the others fit in `room` bytes. So no namespace can take the place of all others. The clients’ own routes stay.
 */
export function leftOut(
  parts: readonly Part[],
  own: string | undefined,
  room: number,
): ReadonlyMap<string, number> {
  const sizes = new Map<string, number>();
  let excess = -room;
  for (const { namespace, bytes } of parts) {
    excess += bytes;
    if (namespace !== own) sizes.set(namespace, (sizes.get(namespace) ?? 0) + bytes);
  }
  const out = new Map<string, number>();
  for (const [namespace, bytes] of [...sizes].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))) {
    if (excess <= 0) break;
    out.set(namespace, bytes);
    excess -= bytes;
  }
  return out;
}

/** Says that the routes of a namespace are left out, and what to do. */
export function leftOutText(namespace: string, bytes: number, clientNamespace: string): string {
  return `the routes that apply in namespace ${clientNamespace} exceed ${MAX_BYTES} bytes, so the ${bytes} bytes of routes in namespace ${namespace} are left out: clients reach its Services as without routes. Remove routes there`;
}
