import { type JsonObject, own, ownString } from '../../../util/json.ts';

/** The fields that two ports of a pod cannot share. */
const FIELDS = ['containerPort', 'hostPort'] as const;
type PortField = (typeof FIELDS)[number];

/**
 * The ports of a pod and their owners, by what others collide on. The containers of a pod share one network namespace: only
 * one can listen on a port, and only one gets a port of the host.
 */
export class PortIndex<T> {
  readonly #byPort = new Map<string, { readonly owner: T; readonly port: JsonObject }[]>();

  add(owner: T, port: JsonObject): void {
    for (const field of FIELDS) {
      if (field === 'hostPort' && !own(port, field)) continue;
      const key = `${field} ${formatPort(port, field)}`;
      const others = this.#byPort.get(key);
      if (others) others.push({ owner, port });
      else this.#byPort.set(key, [{ owner, port }]);
    }
  }

  /** The ports that this one collides with, and their owners. */
  collisionsOf(port: JsonObject) {
    const found = FIELDS.flatMap((field) =>
      (this.#byPort.get(`${field} ${formatPort(port, field)}`) ?? []).map((other) => ({ ...other, field })),
    );
    // Those with the same port of the container collide already on that.
    return found.filter(
      ({ field, port: other }) =>
        field === 'containerPort' ||
        (own(other, 'containerPort') !== own(port, 'containerPort') && shareHostIp(port, other)),
    );
  }
}

/** A port as users write it: `80/TCP`. */
export function formatPort(port: JsonObject, field: PortField = 'containerPort'): string {
  return `${own(port, field)}/${protocolOf(port)}`;
}

/** The protocol; TCP is the default of the API server. */
export function protocolOf(port: JsonObject): string {
  return ownString(port, 'protocol') ?? 'TCP';
}

/** Whether two ports of the host are at one address: at the same, or one of them at all. */
function shareHostIp(...ports: readonly JsonObject[]): boolean {
  const addresses = ports.map((port) => ownString(port, 'hostIP') ?? '');
  const [first] = addresses;
  return addresses.some((ip) => ['', '0.0.0.0', '::'].includes(ip)) || addresses.every((ip) => ip === first);
}
