import type { ComponentExitedError } from '../control-plane/component.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { type CommandResult, runCommand } from '../control-plane/run-command.ts';
import type { Supervisor } from '../control-plane/supervisor.ts';
import { CONTAINERD_SOCKET } from './container-config.ts';
import type { Machine } from './machine.ts';
import { nodeFiles } from './node-files.ts';
import { linkImage } from './registry/image-links.ts';
import { formatReference, parseReference } from './registry/reference.ts';
import { searchPath } from './search-path.ts';
import type { Worker } from './start-worker.ts';

/**
 * Gives a running node an image, an OCI layout, under this name. What the node has pulled by that name before is
 * forgotten, so that the next pod gets the new one; containers that run keep theirs.
 */
async function replaceImage(
  machine: Pick<Machine, 'inside'>,
  images: string,
  name: string,
  layout: string,
): Promise<void> {
  const isReplaced = await linkImage(images, name, layout);
  if (!isReplaced) return;
  const reference = formatReference(parseReference(name));
  const { command, args } = machine.inside({
    command: 'ctr',
    args: ['--address', CONTAINERD_SOCKET, '--namespace', 'k8s.io', 'images', 'rm', reference],
  });
  const { code, stderr } = await runCommand(command, args, { PATH: searchPath() }, '');
  if (code !== 0) throw new Error(`${reference} could not be removed from the node: ${stderr.trim()}`);
}

export interface ClusterParts {
  readonly controlPlane: ControlPlane;
  readonly machine: Machine;
  /** Holds the machine. */
  readonly supervisor: Supervisor;
  /** Starts another node, of a number that no other has had. */
  readonly addNode: (name: string, number: number) => Promise<Worker>;
}

/** A running cluster of one node, to which others can be added: `startCluster` makes one. */
export class Cluster {
  /** What there is to do with it that a node adds nothing to. The process ids that it knows are those in the machine. */
  readonly controlPlane: ControlPlane;
  readonly machine: Machine;
  readonly #supervisor: Supervisor;
  readonly #addNode: ClusterParts['addNode'];
  readonly #workers: Worker[] = [];
  #added = 0;

  constructor({ controlPlane, machine, supervisor, addNode }: ClusterParts) {
    this.controlPlane = controlPlane;
    this.machine = machine;
    this.#supervisor = supervisor;
    this.#addNode = addNode;
  }

  /** For a user of the group system:masters. */
  get kubeconfigPath(): string {
    return this.controlPlane.kubeconfigPath;
  }

  /** Resolves when a process has ended that nobody stopped. */
  get failure(): Promise<ComponentExitedError> {
    return this.controlPlane.failure;
  }

  /** The directory of the node's registry. */
  get images(): string {
    return nodeFiles(this.machine.directory).images;
  }

  /** Runs kubectl as the admin, with no setting of the user's own. Resolves however it ends. */
  kubectl(args: readonly string[], options?: { readonly input?: string }): Promise<CommandResult> {
    return this.controlPlane.kubectl(args, options);
  }

  /** Gives pods an image, an OCI layout, under this name, from the next pod on. */
  loadImage(name: string, layout: string): Promise<void> {
    return replaceImage(this.machine, this.images, name, layout);
  }

  /** Adds a node, in a machine of its own; resolves when its kubelet runs. It ends with the cluster, or before. */
  async addNode(name: string): Promise<Worker> {
    const worker = await this.#addNode(name, ++this.#added);
    this.#workers.push(worker);
    return worker;
  }

  /** Resolves when no process, mount, network, cgroup or file is left. */
  async stop(): Promise<void> {
    for (const worker of this.#workers) await worker.stop();
    await this.controlPlane.stop();
    await this.#supervisor.stop();
    await this.machine.gone;
  }
}
