/** Networks of OVN, whose databases are at these addresses: packets go between its chassis by Geneve. */
export function ovnConfig({ northbound, southbound }: OvnAddresses): string {
  return `[ml2]
type_drivers = local,geneve
tenant_network_types = geneve
mechanism_drivers = ovn
extension_drivers = port_security
[ml2_type_geneve]
vni_ranges = 1:65536
max_header_size = 38
[ovn]
ovn_nb_connection = ${northbound}
ovn_sb_connection = ${southbound}
`;
}

/** In the form of OVN: `tcp:127.0.0.1:6641`. */
export interface OvnAddresses {
  readonly northbound: string;
  readonly southbound: string;
}
