import { createHash } from 'node:crypto';
import { PROGRAM } from '../../util/identity.ts';
import { FIRST_VNI } from '../multus/cni-config.ts';
import { bitsOf, formatRange, type Range } from '../ranges/cidr.ts';
import { COUNTERS } from './firewall.ts';

export interface RuleFacts {
  /** All bridges of Networks on this node. */
  readonly bridges: readonly {
    readonly name: string;
    readonly ranges: readonly Range[];
  }[];
  readonly vnis: readonly number[];
  /** The addresses of all nodes that send packets for these VNIs. */
  readonly peers: readonly string[];
  readonly port: number;
}

/** The whole table, for `nft -f -`, and a digest that the table contains. */
export interface Rules {
  readonly text: string;
  readonly digest: string | undefined;
}

const TABLE = `inet ${PROGRAM}`;
export const OWN_TABLE = TABLE.split(' ');
export const DIGEST_CHAIN = [...OWN_TABLE, 'forward'];
/** Of all chains of the node. */
const PRIORITY = { before: -1000, after: 1000 } as const;
const PROTOCOL = { ip: 'ipv4', ip6: 'ipv6' } as const;
const DIGEST = /comment "([0-9a-f]{16})"/;

/**
 * Returns the rules of the node. They replace the table in one transaction.
 * - `input` drops packets of our VNIs from hosts that are not peers. VNIs of other programs on the port pass.
 * - `forward` drops connections into a Network from outside. Bridged packets pass, which `forward` sees
 *   if the node calls iptables for bridges.
 * - `forged` drops packets of our VNIs that pods send to peers. With the address of the node, the peer would take them
 *   as the node's, for any of its Networks. A node can still route packets between its peers.
 * - `switched` settles that what pods send each other keeps its sender, before another program's masquerading (kindnet's,
 *   ip-masq-agent's) changes it, if the node calls iptables for bridges. What is sent to a Service stays kube-proxy's: it
 *   masquerades a pod that gets itself. `sent` takes the tunnels' own packets out of connection tracking for the same end.
 * - `forward_before`, `forward_after`, `input_before` and `input_after` count what others' rules let through.
 * - `postrouting` hides pods behind the node when they leave their Network.
 */
export function rulesOf({ bridges, vnis, peers, port }: RuleFacts): Rules {
  const replace = `table ${TABLE}\ndelete table ${TABLE}\n`;
  if (bridges.length === 0) return { text: replace, digest: undefined };
  const sorted = bridges.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const names = sorted.map(({ name }) => `"${name}"`);
  const families = (['ip', 'ip6'] as const).map((kind) => ({ kind, known: peersOf(kind, peers) }));
  const withPeers = families.filter(({ known }) => known.length > 0);
  const ours = vnis.length === 0 ? [] : [`  ${tunnelled(vnis, port)}`];
  const body = [
    'set bridges {',
    '  type ifname',
    `  elements = ${setOf(names)}`,
    '}',
    'set same {',
    '  type ifname . ifname',
    `  elements = ${setOf(names.map((name) => `${name} . ${name}`))}`,
    '}',
    'chain input {',
    '  type filter hook input priority filter; policy accept;',
    ...families.flatMap(({ kind, known }) => {
      const others = known.length > 0 ? `${kind} saddr != ${setOf(known)}` : `meta nfproto ${PROTOCOL[kind]}`;
      return ours.map((packets) => `${packets} ${others} drop`);
    }),
    '}',
    'chain forged {',
    '  type filter hook forward priority filter; policy accept;',
    ...withPeers.map(({ kind, known }) => {
      const all = setOf(known);
      return `  udp dport ${port} @th,96,24 >= ${FIRST_VNI} ${kind} daddr ${all} ${kind} saddr != ${all} drop`;
    }),
    '}',
    ...COUNTERS.map((name) => `counter ${name} {}`),
    // First and last of all rules of the node, also of those of other programs.
    ...(['before', 'after'] as const).flatMap((place) => [
      `chain forward_${place} {`,
      `  type filter hook forward priority ${PRIORITY[place]}; policy accept;`,
      `  iifname . oifname @same meta nfproto ipv4 counter name ip_${place}`,
      // Without those that a host sends by itself.
      `  iifname . oifname @same ip6 saddr != { ::, fe80::/10 } counter name ip6_${place}`,
      '}',
      `chain input_${place} {`,
      `  type filter hook input priority ${PRIORITY[place]}; policy accept;`,
      ...withPeers.flatMap(({ kind, known }) =>
        ours.map((packets) => `${packets} ${kind} saddr ${setOf(known)} counter name tunnel_${place}`),
      ),
      '}',
    ]),
    'chain sent {',
    '  type filter hook output priority raw; policy accept;',
    ...ours.map((packets) => `${packets} notrack`),
    '}',
    'chain switched {',
    '  type nat hook postrouting priority srcnat - 1; policy accept;',
    ...['ip', 'ip6'].map((kind) => `  oifname @bridges ct status & dnat == 0 snat ${kind} to ${kind} saddr`),
    '}',
    'chain postrouting {',
    '  type nat hook postrouting priority srcnat; policy accept;',
    ...sorted.flatMap(({ name, ranges }) =>
      ranges.map((range) => `  ${family(range)} saddr ${formatRange(range)} oifname != "${name}" masquerade`),
    ),
    '}',
  ];
  const digest = createHash('sha256').update(body.join('\n')).digest('hex').slice(0, 16);
  const forward = [
    'chain forward {',
    '  type filter hook forward priority filter; policy accept;',
    `  ct state established,related accept comment "${digest}"`,
    '  oifname @bridges iifname . oifname != @same drop',
    '}',
  ];
  const table = [...body, ...forward].map((line) => `  ${line}\n`).join('');
  return { text: `${replace}table ${TABLE} {\n${table}}\n`, digest };
}

export function digestIn(output: string): string | undefined {
  return DIGEST.exec(output)?.[1];
}

/** Packets of our VNIs. At offset 96 of the UDP header is the VNI (RFC 7348 section 5). */
function tunnelled(vnis: readonly number[], port: number): string {
  return `udp dport ${port} @th,96,24 ${setOf([...new Set(vnis)].toSorted((a, b) => a - b).map(String))}`;
}

function peersOf(kind: 'ip' | 'ip6', peers: readonly string[]): readonly string[] {
  return [...new Set(peers)].filter((peer) => peer.includes(':') === (kind === 'ip6')).toSorted();
}

function setOf(elements: readonly string[]): string {
  return `{ ${elements.join(', ')} }`;
}

function family({ address }: Range): 'ip' | 'ip6' {
  return bitsOf(address) === 32 ? 'ip' : 'ip6';
}
