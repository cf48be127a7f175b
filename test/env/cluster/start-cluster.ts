import { join } from 'node:path';
import { Component, type ComponentExitedError, type ComponentSpec } from '../control-plane/component.ts';
import { ControlPlane, type ControlPlaneParts } from '../control-plane/control-plane.ts';
import { createCredentials } from '../control-plane/credentials.ts';
import { type AuditLevel, controlPlaneFiles, writeFiles } from '../control-plane/files.ts';
import type { ProgressStream } from '../control-plane/progress.ts';
import { projectDirectory } from '../control-plane/project-directory.ts';
import { type Supervisor, startSupervisor } from '../control-plane/supervisor.ts';
import { API_SERVICE_ADDRESS, NODE_NAME, PORTS, podRange } from './addresses.ts';
import { Cluster } from './cluster.ts';
import type { ClusterSettings } from './cluster-settings.ts';
import { componentSpecs } from './component-specs.ts';
import { DNS_MANIFEST } from './dns/dns.ts';
import type { ImageName } from './images.ts';
import { type Machine, startMachine, sweepMachines } from './machine.ts';
import { installMultus, MULTUS_MANIFESTS } from './multus/multus.ts';
import { createNodeCredentials } from './node-credentials.ts';
import { nodeFiles, writeNodeFiles } from './node-files.ts';
import { type Preparation, prepareCluster } from './prepare.ts';
import { linkImage } from './registry/image-links.ts';
import { startWorker } from './start-worker.ts';

/** What runs of a cluster. */
interface StartedComponents extends Pick<ControlPlaneParts, 'components' | 'failure'> {
  /** To be called once the DNS server has its rights: it is ready when it has read what it answers from. */
  readonly startDns: () => Promise<unknown>;
}

/** Starts the processes of a cluster, what does not wait for another side by side, and waits until they serve. */
async function startComponents(
  supervisor: Supervisor,
  settings: ClusterSettings,
  log: (message: string) => void,
): Promise<StartedComponents> {
  let onUnexpectedExit: (err: ComponentExitedError) => void = () => {};
  const failure = new Promise<ComponentExitedError>((resolve) => {
    onUnexpectedExit = resolve;
  });
  const specs = componentSpecs(settings);
  const start = async (spec: ComponentSpec): Promise<Component> => {
    const component = new Component(supervisor, spec, onUnexpectedExit);
    await component.start();
    log(`${component.name} is ready`);
    return component;
  };
  const startControlPlane = async () => {
    const etcd = await start(specs.etcd);
    return { etcd, apiServer: await start(specs.apiServer) };
  };
  const [{ etcd, apiServer }] = await Promise.all([
    startControlPlane(),
    start(specs.registry),
    start(specs.containerd),
  ]);
  const [controllerManager] = await Promise.all([
    start(specs.controllerManager),
    start(specs.scheduler),
    start(specs.kubelet),
    start(specs.kubeProxy),
  ]);
  const components = { etcd, apiServer, controllerManager };
  return { components, failure, startDns: () => start(specs.dns) };
}

export interface ClusterOptions {
  /** Told what has become ready. */
  readonly log?: (message: string) => void;
  /** Where the progress of what takes long is written; by default stderr. */
  readonly progress?: ProgressStream;
  /** By default busybox alone. */
  readonly images?: readonly ImageName[];
  /** Attaches pods to further networks, as NetworkAttachmentDefinitions say; by default there are none. */
  readonly multus?: boolean;
  /** Makes the API server write each request to `auditLogPath`. */
  readonly auditLog?: AuditLevel;
  readonly extraApiServerArgs?: readonly string[];
  /** How often the first node's kubelet looks at each pod, such as `1m`; by default more often than a kubelet would. */
  readonly syncFrequency?: string;
}

/**
 * Starts a cluster of one node, in a machine within this one: control plane, kubelet, kube-proxy and containerd. Resolves
 * when the node is ready. Rejects, leaving nothing behind, where something is missing or a process ends.
 */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const { progress = process.stderr, images = ['busybox'], multus = false } = options;
  const preparation = await prepareCluster({ images, multus }, progress);
  await sweepMachines();
  // One for the machine, and below one in it, whose processes go first.
  const outer = await startSupervisor();
  try {
    const machine = await startMachine(outer, preparation.pause);
    const { controlPlane, settings } = await startIn(machine, preparation, options);
    const addNode = (name: string, number: number) =>
      startWorker({ name, number, hub: settings, preparation });
    return new Cluster({ controlPlane, machine, supervisor: outer, addNode });
  } catch (err) {
    await outer.stop();
    throw err;
  }
}

async function startIn(
  machine: Machine,
  preparation: Preparation,
  options: ClusterOptions,
): Promise<{ readonly controlPlane: ControlPlane; readonly settings: ClusterSettings }> {
  const { log = () => {} } = options;
  const supervisor = await startSupervisor(machine.inside);
  try {
    const settings = await setUp(machine, preparation, options);
    const { files, credentials, server, binaries } = settings;
    const { startDns, ...parts } = await startComponents(supervisor, settings, log);
    const { kubectl } = binaries;
    const controlPlane = new ControlPlane({
      ...{ supervisor, ...parts, files, server, caPem: credentials.caPem, kubectl },
    });
    const multus = preparation.multus === undefined ? [] : MULTUS_MANIFESTS;
    await apply(controlPlane, [DNS_MANIFEST, ...multus]);
    await startDns();
    await untilNodeReady(controlPlane, NODE_NAME);
    log('the node is ready');
    return { controlPlane, settings };
  } catch (err) {
    await supervisor.stop();
    throw err;
  }
}

/** Writes all that the machine's processes are to read. */
async function setUp(
  machine: Machine,
  preparation: Preparation,
  options: ClusterOptions,
): Promise<ClusterSettings> {
  const { auditLog, extraApiServerArgs = [] } = options;
  const { binaries, nodeBinaries, layouts, dns, multus } = preparation;
  const { address, directory } = machine;
  const server = `https://${address}:${PORTS.apiServer}`;
  const credentials = await createCredentials(new Date(), [address, '127.0.0.1', API_SERVICE_ADDRESS]);
  const nodeCredentials = await createNodeCredentials(credentials, NODE_NAME, address);
  const files = controlPlaneFiles(directory);
  const node = nodeFiles(directory);
  await writeFiles(files, credentials, server, auditLog ?? 'None');
  await writeNodeFiles(node, {
    ...{ machine, credentials, nodeCredentials, server, caFile: files.ca },
    ...{ nodeName: NODE_NAME, podRange: podRange(0), hubAddress: address },
    syncFrequency: options.syncFrequency,
  });
  if (multus !== undefined) await installMultus(machine, multus, podRange(0), credentials, server);
  for (const [name, layout] of layouts) await linkImage(node.images, name, layout);
  return {
    ...{
      machine,
      nodeName: NODE_NAME,
      binaries,
      nodeBinaries,
      dns,
      credentials,
      files,
      nodeFiles: node,
      server,
      extraApiServerArgs,
    },
    ports: { apiServer: PORTS.apiServer, etcd: PORTS.etcd },
    isAudited: auditLog !== undefined,
  };
}

/** Applies files of the project. */
async function apply(controlPlane: ControlPlane, files: readonly string[]): Promise<void> {
  const paths = files.flatMap((file) => ['-f', join(projectDirectory(), file)]);
  const { code, stderr } = await controlPlane.kubectl(['apply', ...paths]);
  if (code !== 0) throw new Error(`kubectl apply of ${files.join(', ')}: ${stderr.trim()}`);
}

/** Waits for a node's own word that it is. */
async function untilNodeReady(controlPlane: Pick<ControlPlane, 'kubectl'>, name: string): Promise<void> {
  const { code, stderr } = await controlPlane.kubectl([
    ...['wait', `node/${name}`, '--for=create', '--for=condition=Ready', '--timeout=60s'],
  ]);
  if (code !== 0) throw new Error(`node ${name} is not ready after 60 s: ${stderr.trim()}`);
}
