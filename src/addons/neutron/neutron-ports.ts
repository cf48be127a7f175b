import type { NeutronPort, NeutronSubnet } from './neutron-resources.ts';

/**
 * Owners of ports that Neutron creates and deletes automatically (neutron/common/_constants.py
 * AUTO_DELETE_PORT_OWNERS).
 */
const AUTOMATIC_OWNERS: ReadonlySet<string> = new Set([
  'network:dhcp',
  'network:distributed',
  'network:floatingip_agent_gateway',
]);

/** Ports of users, without those that Neutron deletes automatically. */
export function usersOf(ports: readonly NeutronPort[]): readonly NeutronPort[] {
  return ports.filter(({ owner }) => !AUTOMATIC_OWNERS.has(owner));
}

const NAMED_PORTS = 3;

/** `7d20… (vm-1, compute:nova), 8e31… and 4 more`. */
export function namePorts(ports: readonly NeutronPort[]): string {
  const names = ports.slice(0, NAMED_PORTS).map(({ id, name, owner }) => {
    const known = [name, owner].filter((text) => text !== '').join(', ');
    return known === '' ? id : `${id} (${known})`;
  });
  const more = ports.length > NAMED_PORTS ? ` and ${ports.length - NAMED_PORTS} more` : '';
  return `${names.join(', ')}${more}`;
}

/** Whether a port has the address. The interface of a router may have the gateway address. */
export function holds({ owner, addresses }: NeutronPort, { id }: NeutronSubnet, address: string): boolean {
  if (owner.startsWith('network:router') || owner.startsWith('network:ha_router')) return false;
  return addresses.some((held) => held.subnetId === id && held.address === address);
}
