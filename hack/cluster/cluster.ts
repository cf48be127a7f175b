import type { ComponentExitedError } from '../control-plane/component.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { CommandResult } from '../control-plane/run-command.ts';
import type { Machine } from './machine.ts';
import { linkImage } from './registry/image-links.ts';

/** A running cluster of one node: `startCluster` makes one. */
export class Cluster {
  readonly controlPlane: ControlPlane;
  readonly machine: Machine;
  readonly #images: string;

  constructor(controlPlane: ControlPlane, machine: Machine, images: string) {
    this.controlPlane = controlPlane;
    this.machine = machine;
    this.#images = images;
  }

  /** For a user of the group system:masters. */
  get kubeconfigPath(): string {
    return this.controlPlane.kubeconfigPath;
  }

  /** Resolves when a process has ended that nobody stopped. */
  get failure(): Promise<ComponentExitedError> {
    return this.controlPlane.failure;
  }

  /** Runs kubectl as the admin, with no setting of the user's own. Resolves however it ends. */
  kubectl(args: readonly string[], options?: { readonly input?: string }): Promise<CommandResult> {
    return this.controlPlane.kubectl(args, options);
  }

  /** Gives pods an image, an OCI layout, under this name. Containers that run keep the one they have. */
  async loadImage(name: string, layout: string): Promise<void> {
    await linkImage(this.#images, name, layout);
  }

  /** Resolves when no process, mount, network, cgroup or file is left. */
  async stop(): Promise<void> {
    await this.controlPlane.stop();
    await this.machine.gone;
  }
}
