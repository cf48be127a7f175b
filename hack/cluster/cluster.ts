import type { ComponentExitedError } from '../control-plane/component.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { CommandResult } from '../control-plane/run-command.ts';
import type { Supervisor } from '../control-plane/supervisor.ts';
import type { Machine } from './machine.ts';
import { nodeFiles } from './node-files.ts';
import { replaceImage } from './replace-image.ts';

/** A running cluster of one node: `startCluster` makes one. */
export class Cluster {
  /** What there is to do with it that a node adds nothing to. The process ids that it knows are those in the machine. */
  readonly controlPlane: ControlPlane;
  readonly machine: Machine;
  readonly #supervisor: Supervisor;

  /** Takes the supervisor that holds the machine. */
  constructor(controlPlane: ControlPlane, machine: Machine, supervisor: Supervisor) {
    this.controlPlane = controlPlane;
    this.machine = machine;
    this.#supervisor = supervisor;
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

  /** Resolves when no process, mount, network, cgroup or file is left. */
  async stop(): Promise<void> {
    await this.controlPlane.stop();
    await this.#supervisor.stop();
    await this.machine.gone;
  }
}
