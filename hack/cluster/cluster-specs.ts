import type { ComponentSpec } from '../control-plane/component.ts';
import {
  apiServerSpec,
  type ComponentSettings,
  controllerManagerSpec,
  etcdSpec,
} from '../control-plane/component-specs.ts';
import { isOk } from '../control-plane/is-ok.ts';
import { PORTS, SERVICE_RANGE } from './addresses.ts';
import type { Machine } from './machine.ts';
import type { NodeFiles } from './node-files.ts';
import { inMachine } from './node-specs.ts';

/** The embedded control plane's etcd, in the machine: what it says of its health is to be heard from outside. */
export function clusterEtcdSpec(machine: Machine, settings: ComponentSettings): ComponentSpec {
  const spec = etcdSpec(settings);
  const url = `http://${machine.address}:${PORTS.etcdHealth}`;
  return inMachine(machine, {
    ...spec,
    args: [...spec.args, `--listen-metrics-urls=${url}`],
    isReady: () => isOk(`${url}/health`),
  });
}

/** The embedded control plane's API server, in the machine, where there is a node to reach and pods that reach it. */
export function clusterApiServerSpec(
  machine: Machine,
  settings: ComponentSettings,
  files: NodeFiles,
): ComponentSpec {
  const { address } = machine;
  const extraApiServerArgs = [
    // Of a flag that takes one value, the last one counts.
    '--bind-address=0.0.0.0',
    `--advertise-address=${address}`,
    // Writes the endpoints of the Service `kubernetes`, by which pods reach it.
    '--endpoint-reconciler-type=lease',
    `--service-cluster-ip-range=${SERVICE_RANGE}`,
    '--authorization-mode=Node',
    '--enable-admission-plugins=NodeRestriction',
    '--kubelet-preferred-address-types=InternalIP',
    `--kubelet-certificate-authority=${settings.files.ca}`,
    `--kubelet-client-certificate=${files.kubeletClientCert}`,
    `--kubelet-client-key=${files.kubeletClientKey}`,
    ...settings.extraApiServerArgs,
  ];
  return inMachine(machine, apiServerSpec({ ...settings, extraApiServerArgs }));
}

export function clusterControllerManagerSpec(
  machine: Machine,
  settings: ComponentSettings,
  command: string,
): ComponentSpec {
  return inMachine(machine, controllerManagerSpec(settings, command));
}
