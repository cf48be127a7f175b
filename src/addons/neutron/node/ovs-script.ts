/**
 * The plugin for pods on Networks of provider neutron. Multus passes the ID of the port in `args.cni`, and ovs-cni up
 * to v0.39 reads it from CNI_ARGS only. It fails until the operator has written the port into the pod's annotation;
 * code 11 of the CNI specification means: try again later.
 */
export const OVS_SCRIPT = `#!/bin/sh
# CNI plugin: ovs, with the port in Neutron of the pod. Written by the node agent of envoy-initializer.
set -eu
config=$(cat)
plugin="\${0%/*}/ovs"
fail() {
  printf '{"cniVersion":"1.0.0","code":%s,"msg":"%s"}' "$1" "$2"
  exit 1
}
[ -x "$plugin" ] || fail 50 'this node has no CNI plugin ovs: install ovs-cni'
port=$(printf '%s' "$config" | sed -n 's/.*"OvnPort":"\\([0-9a-f-]*\\)".*/\\1/p')
mac=$(printf '%s' "$config" | sed -n 's/.*"mac":"\\([0-9a-fA-F:]*\\)".*/\\1/p')
if [ "\${CNI_COMMAND:-}" = ADD ]; then
  [ -n "$port" ] || fail 11 'the pod has no port in Neutron yet: see its Events'
fi
CNI_ARGS="\${CNI_ARGS:+$CNI_ARGS;}IgnoreUnknown=1\${port:+;OvnPort=$port}\${mac:+;MAC=$mac}"
export CNI_ARGS
printf '%s' "$config" | "$plugin"
`;
