import { PORTS } from './addresses.ts';

/** Where a node has its CNI configuration and plugins by convention, and what installs others looks for them. */
export const CNI_DIRECTORIES = { config: '/etc/cni/net.d', plugins: '/opt/cni/bin' } as const;

/** The socket that kubelet and ctr speak to. */
export const CONTAINERD_SOCKET = '/run/containerd/containerd.sock';

/** The image of a pod's sandbox. */
export const PAUSE_IMAGE = 'localhost/pause:1';

/** containerd's configuration in the form of 1.6 and 1.7, which 2.x converts by itself. */
export function containerdConfig(registryHostsDirectory: string): string {
  return `version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
# Their defaults are directories and servers that a node does without.
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.tracing.processor.v1.otlp"]

[grpc]
  address = "${CONTAINERD_SOCKET}"

[metrics]
  address = "0.0.0.0:${PORTS.containerdMetrics}"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${PAUSE_IMAGE}"
  # Lowering it takes CAP_SYS_RESOURCE, which a container that we run in may not have.
  restrict_oom_score_adj = true
  # Profiles are loaded into the kernel, for all of the machine outside, and stay.
  disable_apparmor = true
  # As by default from 2.0 on: a port below 1024 takes no capability.
  enable_unprivileged_ports = true
  enable_unprivileged_icmp = true

  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${CNI_DIRECTORIES.plugins}"
    conf_dir = "${CNI_DIRECTORIES.config}"

  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "${registryHostsDirectory}"

  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"

    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
`;
}

/** Sends containerd to our own registry for all images, whatever host their names begin with. */
export function registryHosts(address: string): string {
  const url = `http://${address}:${PORTS.registry}`;
  return `server = "${url}"\n\n[host."${url}"]\n  capabilities = ["pull", "resolve"]\n`;
}

/** One bridge, from which pods reach each other, the node and, by its address, what the node reaches. */
export function cniConfig(range: string): string {
  return JSON.stringify({
    cniVersion: '1.0.0',
    name: 'bridge',
    plugins: [
      {
        type: 'bridge',
        bridge: 'cni0',
        isGateway: true,
        ipMasq: true,
        // A pod may be sent to itself by its own Service.
        hairpinMode: true,
        ipam: { type: 'host-local', ranges: [[{ subnet: range }]], routes: [{ dst: '0.0.0.0/0' }] },
      },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  });
}
