import { READINESS_PORT } from './parts.ts';
import { INBOUND_PORT, OUTBOUND_PORT } from './transparent.ts';

/**
 * The script of the init container that goes with transparent.json. Its chains are replaced whole, by one write for IPv4
 * and one for IPv6, so that it can be run again.
 */
export const CAPTURE_SCRIPT = `#!/bin/sh
# Sends the TCP connections of a pod through Envoy, which runs as user $PROXY_UID: what comes in to port ${INBOUND_PORT}, what goes
# out to port ${OUTBOUND_PORT}. Run again, it leaves the same rules. It takes the capability NET_ADMIN, and iptables of the kind nft.
set -efu
PROXY_UID="\${PROXY_UID:-1337}"

# Prints the ports of a list, a line each; $1 is the annotation that it is from.
ports() {
  for port in $(echo "$2" | tr ',' ' '); do
    case "$port" in
      *[!0-9]* | ??????*) ;;
      *) if [ "$port" -ge 1 ] && [ "$port" -le 65535 ]; then echo "$port" && continue; fi ;;
    esac
    echo "annotation $1: \\"$port\\" is no port: write numbers from 1 to 65535, with commas between them" >&2
    return 1
  done
}

# $1 is the network of the pod alone.
rules() {
  echo '*nat'
  echo ':ENVOY_INBOUND - [0:0]'
  echo ':ENVOY_OUTBOUND - [0:0]'
  # For the kubelet, which asks Envoy itself.
  for port in ${READINESS_PORT} $inbound; do echo "-A ENVOY_INBOUND -p tcp --dport $port -j RETURN"; done
  echo '-A ENVOY_INBOUND -p tcp -j REDIRECT --to-ports ${INBOUND_PORT}'
  # Envoy's own would come back to it for ever.
  echo "-A ENVOY_OUTBOUND -m owner --uid-owner $PROXY_UID -j RETURN"
  echo "-A ENVOY_OUTBOUND -d $1 -j RETURN"
  for port in $outbound; do echo "-A ENVOY_OUTBOUND -p tcp --dport $port -j RETURN"; done
  echo '-A ENVOY_OUTBOUND -p tcp -j REDIRECT --to-ports ${OUTBOUND_PORT}'
  echo COMMIT
}

# $1 is iptables or ip6tables.
capture() {
  rules "$2" | "$1-restore" --noflush
  "$1" -t nat -C PREROUTING -p tcp -j ENVOY_INBOUND 2>/dev/null || "$1" -t nat -A PREROUTING -p tcp -j ENVOY_INBOUND
  "$1" -t nat -C OUTPUT -p tcp -j ENVOY_OUTBOUND 2>/dev/null || "$1" -t nat -A OUTPUT -p tcp -j ENVOY_OUTBOUND
}

inbound="$(ports initializer.kubernetes.io/envoy-exclude-inbound-ports "\${EXCLUDE_INBOUND_PORTS:-}")"
outbound="$(ports initializer.kubernetes.io/envoy-exclude-outbound-ports "\${EXCLUDE_OUTBOUND_PORTS:-}")"
capture iptables 127.0.0.0/8
# Not there where the kernel was told to do without IPv6.
if [ -e /proc/net/if_inet6 ]; then capture ip6tables ::1/128; fi
`;
