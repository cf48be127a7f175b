import { expect, test } from '@jest/globals';
import { COUNTERS, FirewallWatch, passSwitched } from '../../../../src/networks/agent/firewall.ts';

/** As `nft list counters` prints them. */
function shown(counts: Readonly<Record<string, number>>): string {
  const counters = COUNTERS.map(
    (name) => `\tcounter ${name} {\n\t\tpackets ${counts[name] ?? 0} bytes 84\n\t}\n`,
  );
  return `table inet envoy-initializer {\n${counters.join('')}}\n`;
}

test('a firewall is told when ten packets have come and none has passed, until one does', () => {
  const watch = new FirewallWatch(4790);
  const problems = [
    { ip_before: 100, ip_after: 100, tunnel_before: 9 },
    { ip_before: 105, ip_after: 101, tunnel_before: 10 },
    // The table was replaced.
    { ip_before: 4, tunnel_before: 2, tunnel_after: 1 },
    { ip_before: 9, tunnel_before: 99, tunnel_after: 1 },
    { ip_before: 10, tunnel_before: 99, tunnel_after: 1 },
    {},
    { ip_before: 3, ip_after: 1, tunnel_before: 5, tunnel_after: 5 },
  ].map((counts) => watch.problem(shown(counts)));
  const tunnel = 'a firewall of this node drops packets from other nodes: open UDP port 4790';
  const pods = 'a firewall of this node drops IPv4 packets between pods: accept forwarding from nw-* to nw-*';
  const both = `${pods}, and ${tunnel}`;
  expect(problems).toEqual([undefined, tunnel, undefined, tunnel, both, both, undefined]);
  expect(watch.problem('')).toBeUndefined();
});

test('the rule for iptables is inserted once, and removed where it is not wanted', async () => {
  const chains: Record<string, string> = {
    ip: 'iifname "nw-*" oifname "nw-*" xt match "comment" counter packets 0 bytes 0 accept # handle 7',
    ip6: 'iifname "nw-*" oifname "nw-*" ip6 saddr fd00::/8 counter packets 0 bytes 0 accept # handle 3',
  };
  const calls: string[] = [];
  const run = async (_: string, args: readonly string[]) => {
    if (!args.includes('list')) calls.push(args.join(' '));
    return chains[args[3] ?? ''] ?? '';
  };
  await passSwitched(run, async () => true);
  await passSwitched(run, async () => false);
  expect(calls).toEqual([
    'insert rule ip6 filter FORWARD iifname nw-* oifname nw-* accept comment "envoy-initializer"',
    'delete rule ip filter FORWARD handle 7',
  ]);
  const fails = async () => Promise.reject(new Error('Error: No such file or directory'));
  await expect(passSwitched(fails, async () => true)).resolves.toBeUndefined();
});
