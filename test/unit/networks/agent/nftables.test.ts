import { expect, test } from '@jest/globals';
import { digestIn, rulesOf } from '../../../../src/networks/agent/nftables.ts';
import { range } from '../ranges.ts';

const facts = {
  bridges: [
    { name: 'nw-bbbbbbbbbbbb', ranges: [range('10.21.0.0/24')] },
    {
      name: 'nw-aaaaaaaaaaaa',
      ranges: [range('10.20.0.0/24'), range('fd00:20::/64')],
    },
  ],
  vnis: [8388609, 8388608],
  peers: ['192.0.2.3', '192.0.2.2', '192.0.2.3'],
  port: 4789,
};

test('rulesOf replaces the table: peers, isolation, masquerading', () => {
  const { text, digest } = rulesOf(facts);
  expect(text).toBe(`table inet envoy-initializer
delete table inet envoy-initializer
table inet envoy-initializer {
  set bridges {
    type ifname
    elements = { "nw-aaaaaaaaaaaa", "nw-bbbbbbbbbbbb" }
  }
  set same {
    type ifname . ifname
    elements = { "nw-aaaaaaaaaaaa" . "nw-aaaaaaaaaaaa", "nw-bbbbbbbbbbbb" . "nw-bbbbbbbbbbbb" }
  }
  chain input {
    type filter hook input priority filter; policy accept;
    udp dport 4789 @th,96,24 { 8388608, 8388609 } ip saddr != { 192.0.2.2, 192.0.2.3 } drop
    udp dport 4789 @th,96,24 { 8388608, 8388609 } meta nfproto ipv6 drop
  }
  chain forged {
    type filter hook forward priority filter; policy accept;
    udp dport 4789 @th,96,24 >= 8388608 ip daddr { 192.0.2.2, 192.0.2.3 } ip saddr != { 192.0.2.2, 192.0.2.3 } drop
  }
  counter ip_before {}
  counter ip_after {}
  counter ip6_before {}
  counter ip6_after {}
  counter tunnel_before {}
  counter tunnel_after {}
  chain forward_before {
    type filter hook forward priority -1000; policy accept;
    iifname . oifname @same meta nfproto ipv4 counter name ip_before
    iifname . oifname @same ip6 saddr != { ::, fe80::/10 } counter name ip6_before
  }
  chain input_before {
    type filter hook input priority -1000; policy accept;
    udp dport 4789 @th,96,24 { 8388608, 8388609 } ip saddr { 192.0.2.2, 192.0.2.3 } counter name tunnel_before
  }
  chain forward_after {
    type filter hook forward priority 1000; policy accept;
    iifname . oifname @same meta nfproto ipv4 counter name ip_after
    iifname . oifname @same ip6 saddr != { ::, fe80::/10 } counter name ip6_after
  }
  chain input_after {
    type filter hook input priority 1000; policy accept;
    udp dport 4789 @th,96,24 { 8388608, 8388609 } ip saddr { 192.0.2.2, 192.0.2.3 } counter name tunnel_after
  }
  chain sent {
    type filter hook output priority raw; policy accept;
    udp dport 4789 @th,96,24 { 8388608, 8388609 } notrack
  }
  chain switched {
    type nat hook postrouting priority srcnat - 1; policy accept;
    oifname @bridges ct status & dnat == 0 snat ip to ip saddr
    oifname @bridges ct status & dnat == 0 snat ip6 to ip6 saddr
  }
  chain postrouting {
    type nat hook postrouting priority srcnat; policy accept;
    ip saddr 10.20.0.0/24 oifname != "nw-aaaaaaaaaaaa" masquerade
    ip6 saddr fd00:20::/64 oifname != "nw-aaaaaaaaaaaa" masquerade
    ip saddr 10.21.0.0/24 oifname != "nw-bbbbbbbbbbbb" masquerade
  }
  chain forward {
    type filter hook forward priority filter; policy accept;
    ct state established,related accept comment "${digest}"
    oifname @bridges iifname . oifname != @same drop
  }
}
`);
});

test('the digest depends on the facts and not on their order', () => {
  const { text, digest } = rulesOf(facts);
  expect(digestIn(text)).toBe(digest);
  const turned = { ...facts, bridges: facts.bridges.toReversed(), peers: facts.peers.toReversed() };
  expect(rulesOf(turned)).toEqual({ text, digest });
  for (const other of [
    { port: 8472 },
    { peers: [] },
    { vnis: [8388609] },
    { bridges: facts.bridges.slice(1) },
  ]) {
    expect(rulesOf({ ...facts, ...other }).digest).not.toBe(digest);
  }
  expect(digestIn('table inet envoy-initializer {\n\tchain forward {\n\t}\n}\n')).toBeUndefined();
});

test('without bridges there is no table', () => {
  expect(rulesOf({ ...facts, bridges: [] })).toEqual({
    text: 'table inet envoy-initializer\ndelete table inet envoy-initializer\n',
    digest: undefined,
  });
});
