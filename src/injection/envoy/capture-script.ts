import { METRICS_PORT, READINESS_PORT } from './parts.ts';
import { INBOUND_PORT, OUTBOUND_PORT } from './transparent.ts';

/**
 * The script of the init container for transparent.json. It replaces its chains as a whole, by one write for IPv4 and
 * one for IPv6, so that it can run again.
 */
export const CAPTURE_SCRIPT = `#!/bin/sh
# Sends the TCP connections of a pod through Envoy: inbound ones to port ${INBOUND_PORT}, outbound ones to port ${OUTBOUND_PORT}.
# Envoy runs as user $PROXY_UID. A second run leaves the same rules. Needs the capability NET_ADMIN, and iptables-nft.
set -efu
PROXY_UID="\${PROXY_UID:-1337}"

# Prints the ports of a list, one per line. $1 is the annotation of the list.
ports() {
  for port in $(echo "$2" | tr ',' ' '); do
    case "$port" in
      # iptables takes numbers that start with 0 as octal ones.
      *[!0-9]* | ??????* | 0*) ;;
      *) if [ "$port" -ge 1 ] && [ "$port" -le 65535 ]; then echo "$port" && continue; fi ;;
    esac
    echo "annotation $1: \\"$port\\" is not a port: write numbers from 1 to 65535, separated by commas" >&2
    return 1
  done
}

# $1 is the network inside the pod.
rules() {
  echo '*nat'
  echo ':ENVOY_INBOUND - [0:0]'
  echo ':ENVOY_OUTBOUND - [0:0]'
  # The kubelet checks Envoy itself, and Prometheus reads its metrics.
  for port in ${READINESS_PORT} ${METRICS_PORT} $inbound; do echo "-A ENVOY_INBOUND -p tcp --dport $port -j RETURN"; done
  echo '-A ENVOY_INBOUND -p tcp -j REDIRECT --to-ports ${INBOUND_PORT}'
  # Envoy's own connections would loop back to it.
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
# The file is absent if IPv6 is disabled in the kernel.
if [ -e /proc/net/if_inet6 ]; then capture ip6tables ::1/128; fi
`;
