import { mkdir } from 'node:fs/promises';
import { Component } from '../control-plane/component.ts';
import { controlPlaneFiles } from '../control-plane/files.ts';
import { runCommand } from '../control-plane/run-command.ts';
import { startSupervisor } from '../control-plane/supervisor.ts';
import { MACHINE_RANGE, POD_RANGE, podRange } from './addresses.ts';
import type { ClusterSettings } from './cluster-settings.ts';
import { type Machine, startMachine } from './machine.ts';
import { installMultus } from './multus/multus.ts';
import { createNodeCredentials } from './node-credentials.ts';
import { nodeFiles, writeNodeFiles } from './node-files.ts';
import { nodeSpecs } from './node-specs.ts';
import type { Preparation } from './prepare.ts';
import { searchPath } from './search-path.ts';

/** A further node of a cluster. */
export interface Worker {
  readonly machine: Machine;
  /** Resolves when nothing of it is left but its Node. Once is enough. */
  stop(): Promise<void>;
}

export interface WorkerOptions {
  readonly name: string;
  /** Of its pods' range, from 1 on. */
  readonly number: number;
  /** Of the node that the cluster was started with. */
  readonly hub: ClusterSettings;
  readonly preparation: Preparation;
}

/** Starts containerd, kubelet and kube-proxy in a machine of their own, with a cable to the hub's. */
export async function startWorker({ name, number, hub, preparation }: WorkerOptions): Promise<Worker> {
  const outer = await startSupervisor();
  try {
    const machine = await startMachine(outer, preparation.pause);
    await plugIn(hub.machine, machine, number);
    const settings = await setUp(machine, name, number, hub, preparation);
    const inner = await startSupervisor(machine.inside);
    const { containerd, kubelet, kubeProxy } = nodeSpecs(settings);
    // One that ends fails the test that waits for its node.
    const start = (spec: typeof kubelet) => new Component(inner, spec, () => {}).start();
    await start(containerd);
    await Promise.all([start(kubelet), start(kubeProxy)]);
    return {
      machine,
      async stop() {
        await inner.stop();
        await outer.stop();
        await machine.gone;
      },
    };
  } catch (err) {
    await outer.stop();
    throw err;
  }
}

/** A cable between the two, over which each reaches the other and its pods, and a worker all others, too. */
async function plugIn(hub: Machine, worker: Machine, number: number): Promise<void> {
  const cable = `node${number}`;
  await runIn(hub, 'sysctl -q -w net.ipv4.ip_forward=1');
  await ip(hub, `link add ${cable} type veth peer name hub netns ${worker.pid}`);
  const ends = [
    { of: hub, device: cable, peer: worker, ranges: [podRange(number)] },
    { of: worker, device: 'hub', peer: hub, ranges: [POD_RANGE, MACHINE_RANGE] },
  ];
  for (const { of, device, peer } of ends) {
    await ip(of, `address add ${of.address} peer ${peer.address} dev ${device}`);
    await ip(of, `link set ${device} up`);
  }
  for (const { of, device, peer, ranges } of ends) {
    for (const range of ranges) await ip(of, `route add ${range} via ${peer.address} dev ${device}`);
  }
}

const ip = (machine: Machine, line: string) => runIn(machine, `ip ${line}`);

/** With the process ids of this machine. */
async function runIn(machine: Machine, line: string): Promise<void> {
  const args = ['--target', `${machine.pid}`, '--net', ...line.split(' ')];
  const { code, stderr } = await runCommand('nsenter', args, { PATH: searchPath() }, '');
  if (code !== 0) throw new Error(`${line}: ${stderr.trim()}`);
}

async function setUp(
  machine: Machine,
  nodeName: string,
  number: number,
  hub: ClusterSettings,
  { multus }: Preparation,
): Promise<ClusterSettings> {
  const { credentials, server, files: hubFiles } = hub;
  const files = controlPlaneFiles(machine.directory);
  const node = nodeFiles(machine.directory);
  await mkdir(files.logs, { recursive: true });
  await writeNodeFiles(node, {
    ...{ machine, nodeName, podRange: podRange(number), hubAddress: hub.machine.address },
    ...{ credentials, server, caFile: hubFiles.ca },
    nodeCredentials: await createNodeCredentials(credentials, nodeName, machine.address),
  });
  if (multus !== undefined) await installMultus(machine, multus, podRange(number), credentials, server);
  return { ...hub, machine, nodeName, files, nodeFiles: node };
}
