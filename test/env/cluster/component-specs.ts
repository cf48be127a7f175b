import type { ComponentSpec } from '../control-plane/component.ts';
import { apiServerSpec, controllerManagerSpec, etcdSpec } from '../control-plane/component-specs.ts';
import { isOk } from '../control-plane/is-ok.ts';
import { PORTS, SERVICE_RANGE } from './addresses.ts';
import type { ClusterSettings } from './cluster-settings.ts';
import { nodeSpecs } from './node-specs.ts';

/** How to run each process of a cluster, by a supervisor in its machine: the embedded control plane's, and a node's. */
export function componentSpecs(settings: ClusterSettings) {
  return {
    etcd: clusterEtcdSpec(settings),
    apiServer: clusterApiServerSpec(settings),
    controllerManager: controllerManagerSpec(settings, settings.binaries['kube-controller-manager'] ?? ''),
    ...nodeSpecs(settings),
  };
}

/** What it says of its health is to be heard from outside; what it stores is not. */
function clusterEtcdSpec(settings: ClusterSettings): ComponentSpec {
  const spec = etcdSpec(settings);
  const url = `http://${settings.machine.address}:${PORTS.etcdHealth}`;
  return {
    ...spec,
    args: [...spec.args, `--listen-metrics-urls=${url}`],
    isReady: () => isOk(`${url}/health`),
  };
}

/** There is a node that it reaches, and pods that reach it. */
function clusterApiServerSpec(settings: ClusterSettings): ComponentSpec {
  const { machine, files, nodeFiles } = settings;
  const extraApiServerArgs = [
    // Of a flag that takes one value, the last one counts.
    '--bind-address=0.0.0.0',
    `--advertise-address=${machine.address}`,
    // Writes the endpoints of the Service `kubernetes`.
    '--endpoint-reconciler-type=lease',
    `--service-cluster-ip-range=${SERVICE_RANGE}`,
    '--authorization-mode=Node',
    '--enable-admission-plugins=NodeRestriction',
    '--kubelet-preferred-address-types=InternalIP',
    `--kubelet-certificate-authority=${files.ca}`,
    `--kubelet-client-certificate=${nodeFiles.kubeletClientCert}`,
    `--kubelet-client-key=${nodeFiles.kubeletClientKey}`,
    ...settings.extraApiServerArgs,
  ];
  return apiServerSpec({ ...settings, extraApiServerArgs });
}
