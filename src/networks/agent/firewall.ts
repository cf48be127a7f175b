import { PROGRAM } from '../../util/identity.ts';
import type { RunProgram } from './programs.ts';

/** What a firewall of the node may drop, and what to do then. Each has a counter before and one after all rules of others. */
const KINDS = {
  ip: 'IPv4 packets between pods (accept forwarding from nw-* to nw-*)',
  ip6: 'IPv6 packets between pods (accept forwarding from nw-* to nw-*)',
  tunnel: 'packets from other nodes (open UDP port',
} as const;

/** With fewer, they may still be on their way, or are meant to be dropped. */
const ENOUGH = 10;
const COUNTER = /counter (\S+) \{\s+packets (\d+)/g;

export const COUNTERS = Object.keys(KINDS).flatMap((kind) => [`${kind}_before`, `${kind}_after`]);

/**
 * Returns what tells from the output of `nft list counters` why packets do not arrive, because other rules of the node
 * drop all of a kind: as a sentence without a full stop; undefined if they do, or if there were none. A table that was
 * replaced counts from zero.
 * @param port the UDP port of the tunnels
 */
export function firewallWatch(port: number): (counters: string) => string | undefined {
  let last: ReadonlyMap<string, number> = new Map();
  /** Packets since the last one that passed. */
  const dropped = new Map<string, number>();
  return (counters) => {
    const counts = new Map(
      Array.from(counters.matchAll(COUNTER), ([, name = '', packets]) => [name, Number(packets)] as const),
    );
    const more = (name: string) => {
      const [now, before] = [counts.get(name) ?? 0, last.get(name) ?? 0];
      return now < before ? now : now - before;
    };
    const problems = Object.entries(KINDS).flatMap(([kind, text]) => {
      const lost = more(`${kind}_after`) > 0 ? 0 : (dropped.get(kind) ?? 0) + more(`${kind}_before`);
      dropped.set(kind, lost);
      if (lost < ENOUGH) return [];
      return `${text}${kind === 'tunnel' ? ` ${port})` : ''}`;
    });
    last = counts;
    return problems.length === 0 ? undefined : `a firewall on this node drops ${problems.join(', and ')}`;
  };
}

/** Our rule in a chain of iptables: a bridge only switches these packets, so no firewall routes them. */
const PASS = ['iifname', 'nw-*', 'oifname', 'nw-*', 'accept', 'comment', `"${PROGRAM}"`];
// iptables rewrites the rule when it restores what it has saved. With more conditions, it is another's.
const OURS =
  /iifname "nw-\*" oifname "nw-\*"(?:\s|xt match "comment"|counter packets \d+ bytes \d+)* accept(?: comment "[^"]*")? # handle (\d+)/g;

/**
 * Lets switched packets through the chain FORWARD of iptables (nf_tables), where Docker and ufw drop what they do not
 * know: a packet that one chain drops is lost, whatever ours accept. Removes the rule where it is not wanted. What it
 * cannot do, {@link firewallWatch} tells.
 */
export async function passSwitched(
  run: RunProgram,
  isWanted: (family: 'ip' | 'ip6') => Promise<boolean>,
): Promise<void> {
  for (const family of ['ip', 'ip6'] as const) {
    const chain = [family, 'filter', 'FORWARD'];
    const shown = await run('nft', ['--handle', 'list', 'chain', ...chain]).catch(() => undefined);
    if (shown === undefined) continue;
    const handles = Array.from(shown.matchAll(OURS), ([, handle = '']) => handle);
    const changes = (await isWanted(family))
      ? handles.length > 0
        ? []
        : [['insert', 'rule', ...chain, ...PASS]]
      : handles.map((handle) => ['delete', 'rule', ...chain, 'handle', handle]);
    for (const change of changes) await run('nft', change).catch(() => undefined);
  }
}
