import { join } from 'node:path';
import type { NodeBinaries } from '../control-plane/binaries.ts';
import type { ComponentSpec } from '../control-plane/component.ts';
import type { Credentials } from '../control-plane/credentials.ts';
import { isOk } from '../control-plane/is-ok.ts';
import { NODE_NAME, PORTS } from './addresses.ts';
import type { Machine } from './machine.ts';
import type { NodeFiles } from './node-files.ts';
import { registryCommand } from './registry/command.ts';
import { searchPath } from './search-path.ts';

/** All that the processes of a node are told. */
export interface NodeSettings {
  readonly machine: Machine;
  readonly binaries: NodeBinaries;
  readonly files: NodeFiles;
  readonly credentials: Credentials;
  /** A directory. */
  readonly logs: string;
}

/** The registry that containerd pulls from. */
export function registrySpec(settings: NodeSettings): ComponentSpec {
  const { machine, files } = settings;
  return spec(settings, 'registry', registryCommand(machine.address, PORTS.registry, files.images), () =>
    isOk(`http://${machine.address}:${PORTS.registry}/v2/`),
  );
}

export function containerdSpec(settings: NodeSettings): ComponentSpec {
  const { machine, files } = settings;
  const args = ['--config', files.containerdConfig, '--log-level', 'info'];
  return spec(settings, 'containerd', { command: 'containerd', args }, () =>
    isOk(`http://${machine.address}:${PORTS.containerdMetrics}/v1/metrics`),
  );
}

export function kubeletSpec(settings: NodeSettings): ComponentSpec {
  const { machine, binaries, files } = settings;
  const args = [
    `--config=${files.kubeletConfig}`,
    `--kubeconfig=${files.kubeletKubeconfig}`,
    `--hostname-override=${NODE_NAME}`,
    `--node-ip=${machine.address}`,
  ];
  return spec(settings, 'kubelet', { command: binaries.kubelet, args }, () =>
    isOk(`http://${machine.address}:${PORTS.kubeletHealth}/healthz`),
  );
}

export function kubeProxySpec(settings: NodeSettings): ComponentSpec {
  const { machine, binaries, files } = settings;
  const args = [`--config=${files.kubeProxyConfig}`];
  return spec(settings, 'kube-proxy', { command: binaries['kube-proxy'], args }, () =>
    isOk(`http://${machine.address}:${PORTS.kubeProxyHealth}/healthz`),
  );
}

export function schedulerSpec(settings: NodeSettings): ComponentSpec {
  const { machine, binaries, files, credentials } = settings;
  const args = [
    `--kubeconfig=${files.schedulerKubeconfig}`,
    // Nobody asks it more than its health, which it tells to all.
    '--authentication-skip-lookup=true',
    '--leader-elect=false',
    `--secure-port=${PORTS.scheduler}`,
    `--tls-cert-file=${files.servingCert}`,
    `--tls-private-key-file=${files.servingKey}`,
  ];
  const { certPem: cert, keyPem: key } = credentials.admin;
  return spec(settings, 'kube-scheduler', { command: binaries['kube-scheduler'], args }, () =>
    isOk(`https://${machine.address}:${PORTS.scheduler}/readyz`, { ca: credentials.caPem, cert, key }),
  );
}

/** The same process, in the machine. */
export function inMachine(machine: Machine, component: ComponentSpec): ComponentSpec {
  return {
    ...component,
    ...machine.inside(component),
    env: { ...component.env, PATH: searchPath() },
  };
}

function spec(
  { machine, logs }: NodeSettings,
  name: string,
  commandLine: { readonly command: string; readonly args: readonly string[] },
  isReady: () => Promise<boolean>,
): ComponentSpec {
  const env = { HOME: machine.directory, TMPDIR: machine.directory };
  return inMachine(machine, { name, ...commandLine, env, logFile: join(logs, `${name}.log`), isReady });
}
