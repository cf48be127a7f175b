import type { ComponentExitedError, ComponentSpec } from '../control-plane/component.ts';
import { Component } from '../control-plane/component.ts';
import { ControlPlane } from '../control-plane/control-plane.ts';
import { createCredentials } from '../control-plane/credentials.ts';
import { type AuditLevel, controlPlaneFiles, writeFiles } from '../control-plane/files.ts';
import type { ProgressStream } from '../control-plane/progress.ts';
import { type Supervisor, startSupervisor } from '../control-plane/supervisor.ts';
import { API_SERVICE_ADDRESS, NODE_NAME, PORTS } from './addresses.ts';
import { Cluster } from './cluster.ts';
import { clusterApiServerSpec, clusterControllerManagerSpec, clusterEtcdSpec } from './cluster-specs.ts';
import type { ImageName } from './images.ts';
import { startMachine, sweepMachines } from './machine.ts';
import { createNodeCredentials } from './node-credentials.ts';
import { nodeFiles, writeNodeFiles } from './node-files.ts';
import { containerdSpec, kubeletSpec, kubeProxySpec, registrySpec, schedulerSpec } from './node-specs.ts';
import { type Preparation, prepareCluster } from './prepare.ts';
import { linkImage } from './registry/image-links.ts';

export interface ClusterOptions {
  /** Told what has become ready. */
  readonly log?: (message: string) => void;
  /** Where the progress of what takes long is written; by default stderr. */
  readonly progress?: ProgressStream;
  /** By default busybox alone. */
  readonly images?: readonly ImageName[];
  /** Makes the API server write each request to `auditLogPath`. */
  readonly auditLog?: AuditLevel;
  readonly extraApiServerArgs?: readonly string[];
}

/**
 * Starts a cluster of one node, in a machine within this one: control plane, kubelet, kube-proxy and containerd. Resolves
 * when the node is ready. Rejects, leaving nothing behind, where something is missing or a process ends.
 */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const { progress = process.stderr, images = ['busybox'] } = options;
  const preparation = await prepareCluster(images, progress);
  await sweepMachines();
  const supervisor = await startSupervisor();
  try {
    return await startUnder(supervisor, preparation, options);
  } catch (err) {
    await supervisor.stop();
    throw err;
  }
}

async function startUnder(
  supervisor: Supervisor,
  preparation: Preparation,
  options: ClusterOptions,
): Promise<Cluster> {
  const { log = () => {}, auditLog, extraApiServerArgs = [] } = options;
  const { binaries, nodeBinaries, pause, layouts } = preparation;
  const machine = await startMachine(supervisor, pause);
  const server = `https://${machine.address}:${PORTS.apiServer}`;
  const credentials = await createCredentials(new Date(), [
    machine.address,
    '127.0.0.1',
    API_SERVICE_ADDRESS,
  ]);
  const nodeCredentials = await createNodeCredentials(credentials, machine.address);
  const files = controlPlaneFiles(machine.directory);
  const node = nodeFiles(machine.directory);
  await writeFiles(files, credentials, server, auditLog ?? 'None');
  await writeNodeFiles(node, { machine, credentials, nodeCredentials, server, caFile: files.ca });
  for (const [name, layout] of layouts) await linkImage(node.images, name, layout);

  let onUnexpectedExit: (err: ComponentExitedError) => void = () => {};
  const failure = new Promise<ComponentExitedError>((resolve) => {
    onUnexpectedExit = resolve;
  });
  const component = (spec: ComponentSpec) => new Component(supervisor, spec, onUnexpectedExit);
  const start = async (...components: readonly Component[]) => {
    await Promise.all(
      components.map(async (each) => {
        await each.start();
        log(`${each.name} is ready`);
      }),
    );
  };

  const isAudited = auditLog !== undefined;
  const ports = { apiServer: PORTS.apiServer, etcd: PORTS.etcd };
  const settings = { binaries, files, credentials, ports, server, isAudited, extraApiServerArgs };
  const nodeSettings = { machine, binaries: nodeBinaries, files: node, credentials, logs: files.logs };
  const etcd = component(clusterEtcdSpec(machine, settings));
  const apiServer = component(clusterApiServerSpec(machine, settings, node));
  const controllerManager = component(
    clusterControllerManagerSpec(machine, settings, binaries['kube-controller-manager'] ?? ''),
  );
  const runtime = start(component(registrySpec(nodeSettings)), component(containerdSpec(nodeSettings)));
  await start(etcd);
  await start(apiServer);
  await runtime;
  await start(
    controllerManager,
    ...[schedulerSpec, kubeletSpec, kubeProxySpec].map((spec) => component(spec(nodeSettings))),
  );
  const controlPlane = new ControlPlane({
    supervisor,
    components: { etcd, apiServer, controllerManager },
    files,
    server,
    caPem: credentials.caPem,
    kubectl: binaries.kubectl,
    failure,
  });
  await untilNodeReady(controlPlane);
  log('the node is ready');
  return new Cluster(controlPlane, machine, node.images);
}

async function untilNodeReady(controlPlane: ControlPlane): Promise<void> {
  const { code, stderr } = await controlPlane.kubectl([
    ...['wait', `node/${NODE_NAME}`, '--for=create', '--for=condition=Ready', '--timeout=60s'],
  ]);
  if (code !== 0) throw new Error(`the node is not ready after 60 s: ${stderr.trim()}`);
}
