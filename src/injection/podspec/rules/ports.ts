import { type JsonObject, type JsonValue, own, ownString } from '../../../util/json.ts';

/** The fields that two ports of a pod cannot share. */
const FIELDS = ['containerPort', 'hostPort'] as const;
type PortCollision = (typeof FIELDS)[number];

/**
 * The field on which two ports of different containers collide, or undefined. The containers of a pod share
 * one network namespace: only one can listen on a port, and only one gets a port of the host.
 */
export function portCollision(a: JsonObject, b: JsonObject): PortCollision | undefined {
  if (protocolOf(a) !== protocolOf(b)) return undefined;
  if (own(a, 'containerPort') === own(b, 'containerPort')) return 'containerPort';
  const sameHostPort = own(a, 'hostPort') === own(b, 'hostPort') && Boolean(own(a, 'hostPort'));
  return sameHostPort && sameHostIp(hostIpOf(a), hostIpOf(b)) ? 'hostPort' : undefined;
}

/** An index of ports and their owners by the numbers on which others collide. */
export class PortIndex<T> {
  readonly #byNumber = {
    containerPort: new Map<JsonValue | undefined, Indexed<T>[]>(),
    hostPort: new Map<JsonValue | undefined, Indexed<T>[]>(),
  };
  #size = 0;

  add(owner: T, port: JsonObject): void {
    const indexed = { owner, port, at: this.#size };
    this.#size += 1;
    for (const field of FIELDS) {
      const number = own(port, field);
      if (field === 'hostPort' && !number) continue;
      const others = this.#byNumber[field].get(number);
      if (others) others.push(indexed);
      else this.#byNumber[field].set(number, [indexed]);
    }
  }

  /** The ports that this one collides with, and their owners, in the order in which they were added. */
  collisionsOf(port: JsonObject) {
    const found = FIELDS.flatMap((field) =>
      (this.#byNumber[field].get(own(port, field)) ?? [])
        .filter((other) => portCollision(port, other.port) === field)
        .map((other) => ({ ...other, field })),
    );
    return found.sort((a, b) => a.at - b.at);
  }
}

interface Indexed<T> {
  readonly owner: T;
  readonly port: JsonObject;
  readonly at: number;
}

/** A port as users write it: `80/TCP`. */
export function formatPort(port: JsonObject, field: PortCollision = 'containerPort'): string {
  return `${own(port, field)}/${protocolOf(port)}`;
}

/** The protocol; TCP is the default of the API server. */
export function protocolOf(port: JsonObject): string {
  return ownString(port, 'protocol') ?? 'TCP';
}

/** The address of a host port; empty for all addresses. */
function hostIpOf(port: JsonObject): string {
  const ip = ownString(port, 'hostIP') ?? '';
  return ip === '0.0.0.0' || ip === '::' ? '' : ip;
}

function sameHostIp(a: string, b: string): boolean {
  return a === b || a === '' || b === '';
}
