import { join } from 'node:path';
import type { ComponentSpec } from '../control-plane/component.ts';
import { isOk } from '../control-plane/is-ok.ts';
import type { CommandLine } from '../control-plane/supervisor.ts';
import { PORTS } from './addresses.ts';
import type { ClusterSettings } from './cluster-settings.ts';
import { registryCommand } from './registry/command.ts';
import { searchPath } from './search-path.ts';

/** The processes of a node, as they are run within its machine. */
export function nodeSpecs(settings: ClusterSettings) {
  const { machine, nodeName, nodeBinaries: binaries, nodeFiles: files } = settings;
  const spec = (name: string, commandLine: CommandLine, isReady: () => Promise<boolean>): ComponentSpec => ({
    name,
    ...commandLine,
    env: { HOME: machine.directory, TMPDIR: machine.directory, PATH: searchPath() },
    logFile: join(settings.files.logs, `${name}.log`),
    isReady,
  });
  const http = (port: number, path: string) => () => isOk(`http://${machine.address}:${port}${path}`);
  return {
    registry: spec(
      'registry',
      registryCommand(machine.address, PORTS.registry, files.images),
      http(PORTS.registry, '/v2/'),
    ),
    containerd: spec(
      'containerd',
      { command: 'containerd', args: ['--config', files.containerdConfig] },
      http(PORTS.containerdMetrics, '/v1/metrics'),
    ),
    kubelet: spec(
      'kubelet',
      {
        command: binaries.kubelet,
        args: [
          `--config=${files.kubeletConfig}`,
          `--kubeconfig=${files.kubeletKubeconfig}`,
          `--hostname-override=${nodeName}`,
          `--node-ip=${machine.address}`,
        ],
      },
      http(PORTS.kubeletHealth, '/healthz'),
    ),
    kubeProxy: spec(
      'kube-proxy',
      { command: binaries['kube-proxy'], args: [`--config=${files.kubeProxyConfig}`] },
      http(PORTS.kubeProxyHealth, '/healthz'),
    ),
    dns: spec(
      'coredns',
      { command: settings.dns, args: ['-conf', files.corefile] },
      http(PORTS.dnsReady, '/ready'),
    ),
    scheduler: spec(
      'kube-scheduler',
      { command: binaries['kube-scheduler'], args: schedulerArgs(settings) },
      () => isSchedulerReady(settings),
    ),
  };
}

function schedulerArgs({ nodeFiles: files }: ClusterSettings): string[] {
  return [
    `--kubeconfig=${files.schedulerKubeconfig}`,
    '--leader-elect=false',
    `--secure-port=${PORTS.scheduler}`,
    `--tls-cert-file=${files.servingCert}`,
    `--tls-private-key-file=${files.servingKey}`,
    // Nobody asks it more than its health, which it tells to all.
    '--authentication-skip-lookup=true',
  ];
}

function isSchedulerReady({ machine, credentials }: ClusterSettings): Promise<boolean> {
  const { certPem: cert, keyPem: key } = credentials.admin;
  const url = `https://${machine.address}:${PORTS.scheduler}/readyz`;
  return isOk(url, { ca: credentials.caPem, cert, key });
}
