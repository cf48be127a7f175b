import { type JsonObject, own, ownString } from './json.ts';

/** What two ports of a pod cannot both have. */
type PortCollision = 'containerPort' | 'hostPort';

/**
 * What two ports of different containers of one pod collide on, if anything: all its containers share one
 * network namespace, so that only one can listen on a port, and only one gets a port of the host.
 */
export function portCollision(a: JsonObject, b: JsonObject): PortCollision | undefined {
  if (protocolOf(a) !== protocolOf(b)) return undefined;
  if (own(a, 'containerPort') === own(b, 'containerPort')) return 'containerPort';
  const sameHostPort = own(a, 'hostPort') === own(b, 'hostPort') && Boolean(own(a, 'hostPort'));
  return sameHostPort && sameHostIp(hostIpOf(a), hostIpOf(b)) ? 'hostPort' : undefined;
}

/** A port as people write it: `80/TCP`. */
export function formatPort(port: JsonObject, field: PortCollision = 'containerPort'): string {
  return `${own(port, field)}/${protocolOf(port)}`;
}

/** TCP is the default that the API server fills in. */
function protocolOf(port: JsonObject): string {
  return ownString(port, 'protocol') ?? 'TCP';
}

/** Without an address, a host port is taken on all of them. */
function hostIpOf(port: JsonObject): string {
  const ip = ownString(port, 'hostIP') ?? '';
  return ip === '0.0.0.0' || ip === '::' ? '' : ip;
}

function sameHostIp(a: string, b: string): boolean {
  return a === b || a === '' || b === '';
}
