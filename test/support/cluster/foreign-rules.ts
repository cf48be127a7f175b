/** Feeds both families with these lines; `RANGE` is that of the cluster's pods. */
const restored = (lines: string) =>
  [
    ['iptables', '10.244.0.0/16'],
    ['ip6tables', 'fd00:10:244::/56'],
  ]
    .map(
      ([program, range]) =>
        `${program}-restore --noflush <<'end'\n${lines.replaceAll('RANGE', range ?? '')}\nend`,
    )
    .join('\n');

/**
 * What other programs write into the rules of a node, shortened, by the names of the programs. All of them see what a
 * bridge only switches, as `net.bridge.bridge-nf-call-iptables` is 1.
 */
export const FOREIGN_RULES: Readonly<Record<string, string>> = {
  kindnet: restored(`*nat
:KIND-MASQ-AGENT - [0:0]
-A POSTROUTING -m addrtype ! --dst-type LOCAL -j KIND-MASQ-AGENT
-A KIND-MASQ-AGENT -d RANGE -j RETURN
-A KIND-MASQ-AGENT -j MASQUERADE
COMMIT`),
  Docker: restored(`*filter
:FORWARD DROP [0:0]
:DOCKER - [0:0]
:DOCKER-ISOLATION-STAGE-1 - [0:0]
:DOCKER-ISOLATION-STAGE-2 - [0:0]
:DOCKER-USER - [0:0]
-A FORWARD -j DOCKER-USER
-A FORWARD -j DOCKER-ISOLATION-STAGE-1
-A FORWARD -o docker0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A FORWARD -o docker0 -j DOCKER
-A FORWARD -i docker0 ! -o docker0 -j ACCEPT
-A FORWARD -i docker0 -o docker0 -j ACCEPT
-A DOCKER-ISOLATION-STAGE-1 -i docker0 ! -o docker0 -j DOCKER-ISOLATION-STAGE-2
-A DOCKER-ISOLATION-STAGE-1 -j RETURN
-A DOCKER-ISOLATION-STAGE-2 -o docker0 -j DROP
-A DOCKER-ISOLATION-STAGE-2 -j RETURN
-A DOCKER-USER -j RETURN
COMMIT`),
  'ufw, with the port of the tunnels open': restored(`*filter
:INPUT DROP [0:0]
:FORWARD DROP [0:0]
-A INPUT -i lo -j ACCEPT
-A INPUT -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A INPUT -m conntrack --ctstate INVALID -j DROP
-A INPUT -p icmp -j ACCEPT
-A INPUT -p ipv6-icmp -j ACCEPT
-A INPUT -p udp --dport 4789 -j ACCEPT
-A FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
COMMIT`),
  'Calico, Cilium, flannel and kube-proxy': `iptables-restore --noflush <<'end'
*raw
:cali-PREROUTING - [0:0]
-A PREROUTING -j cali-PREROUTING
-A cali-PREROUTING -i cali+ -m rpfilter --validmark --invert -j DROP
COMMIT
*filter
:cali-FORWARD - [0:0]
:CILIUM_FORWARD - [0:0]
:KUBE-FORWARD - [0:0]
-A FORWARD -j cali-FORWARD
-A FORWARD -m comment --comment "cilium-feeder: CILIUM_FORWARD" -j CILIUM_FORWARD
-A FORWARD -j KUBE-FORWARD
-A cali-FORWARD -i cali+ -j DROP
-A CILIUM_FORWARD -o cilium_host -j ACCEPT
-A KUBE-FORWARD -m conntrack --ctstate INVALID -j DROP
-A KUBE-FORWARD -m mark --mark 0x4000/0x4000 -j ACCEPT
COMMIT
*nat
:cali-nat-outgoing - [0:0]
:CILIUM_POST_nat - [0:0]
:FLANNEL-POSTRTG - [0:0]
:KUBE-POSTROUTING - [0:0]
-A POSTROUTING -j cali-nat-outgoing
-A POSTROUTING -j CILIUM_POST_nat
-A POSTROUTING -j FLANNEL-POSTRTG
-A POSTROUTING -j KUBE-POSTROUTING
-A cali-nat-outgoing -s 10.244.0.0/16 ! -d 10.244.0.0/16 -j MASQUERADE
-A CILIUM_POST_nat -s 10.244.0.0/16 ! -d 10.244.0.0/16 ! -o cilium_+ -j MASQUERADE
-A FLANNEL-POSTRTG -s 10.244.0.0/16 ! -d 224.0.0.0/4 -j MASQUERADE
-A FLANNEL-POSTRTG ! -s 10.244.0.0/16 -d 10.244.0.0/16 -j MASQUERADE
-A KUBE-POSTROUTING -m mark ! --mark 0x4000/0x4000 -j RETURN
-A KUBE-POSTROUTING -j MARK --set-xmark 0x4000/0x0
-A KUBE-POSTROUTING -j MASQUERADE --random-fully
COMMIT
end
nft -f - <<'end'
table ip kube-proxy {
  chain filter-forward {
    type filter hook forward priority -110; policy accept;
    ct state new ip daddr 10.96.0.0/16 drop
  }
}
end`,
};

/** Rules that an agent cannot change, and what it says of them. */
export const BLOCKING_RULES: Readonly<Record<string, readonly [rules: string, drops: string]>> = {
  firewalld: [
    `nft -f - <<'end'
table inet firewalld {
  chain filter_FORWARD {
    type filter hook forward priority filter + 10; policy accept;
    ct state { established, related } accept
    ct state invalid drop
    oifname "eth0" accept
    reject with icmpx admin-prohibited
  }
}
end`,
    'IPv4 packets between pods',
  ],
  'the old iptables, with ip6tables': ['ip6tables-legacy -P FORWARD DROP', 'IPv6 packets between pods'],
  ufw: [restored('*filter\n:INPUT DROP [0:0]\nCOMMIT'), 'packets from other nodes (open UDP port 4789)'],
};

/** The addresses of a Service, of both families. */
export const SERVICE = ['10.96.0.10', 'fd00:10:96::10'];

/** What kube-proxy writes for the Service, with these addresses of its one endpoint. */
export function serviceRules(endpoints: readonly string[]): string {
  return ['iptables', 'ip6tables']
    .map((program, i) => {
      const [service, endpoint] = [SERVICE[i], endpoints[i]];
      const target = i === 0 ? `${endpoint}:80` : `[${endpoint}]:80`;
      return `${program}-restore --noflush <<'end'
*nat
:KUBE-SEP - [0:0]
:KUBE-POSTROUTING - [0:0]
-A PREROUTING -d ${service} -p tcp --dport 80 -j KUBE-SEP
-A KUBE-SEP -s ${endpoint} -j MARK --or-mark 0x4000
-A KUBE-SEP -p tcp -j DNAT --to-destination ${target}
-A POSTROUTING -j KUBE-POSTROUTING
-A KUBE-POSTROUTING -m mark ! --mark 0x4000/0x4000 -j RETURN
-A KUBE-POSTROUTING -j MASQUERADE --random-fully
COMMIT
end`;
    })
    .join('\n');
}
