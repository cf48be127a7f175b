#!/bin/sh
# What kindnetd does, by a shell: the node's CNI configuration, routes to the pods of the other nodes, and masquerading
# (the rules of kindnetd's masq.go). No NetworkPolicies. Environment: HOST_IP, POD_SUBNET.
set -u
configuration=/etc/cni/net.d/10-kindnet.conflist
each='{range .items[*]}{.spec.podCIDR} {.status.addresses[?(@.type=="InternalIP")].address}{"\n"}{end}'
while :; do
  kubectl get nodes --output "jsonpath=$each" >/tmp/nodes || { sleep 1; continue; }
  while read -r cidr address; do
    if [ -z "$cidr" ] || [ -z "$address" ]; then continue; fi
    if [ "$address" != "$HOST_IP" ]; then
      ip route replace "$cidr" via "$address"
      continue
    fi
    cat >/tmp/configuration <<-end
	{"cniVersion":"0.3.1","name":"kindnet","plugins":[
	{"type":"ptp","ipMasq":false,"mtu":1500,"ipam":{"type":"host-local","dataDir":"/run/cni-ipam-state",
	"routes":[{"dst":"0.0.0.0/0"}],"ranges":[[{"subnet":"$cidr"}]]}},
	{"type":"portmap","capabilities":{"portMappings":true}}]}
	end
    if ! cmp -s /tmp/configuration $configuration; then
      cp /tmp/configuration $configuration.new
      mv $configuration.new $configuration
    fi
  done </tmp/nodes
  if ! iptables -t nat -nL KIND-MASQ-AGENT >/dev/null 2>&1; then
    iptables -t nat -N KIND-MASQ-AGENT
    iptables -t nat -A KIND-MASQ-AGENT -d "$POD_SUBNET" -j RETURN
    iptables -t nat -A KIND-MASQ-AGENT -j MASQUERADE
  fi
  rule="POSTROUTING -m addrtype ! --dst-type LOCAL -j KIND-MASQ-AGENT"
  iptables -t nat -C $rule 2>/dev/null || iptables -t nat -A $rule
  sleep 5
done
