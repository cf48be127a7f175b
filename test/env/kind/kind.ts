import { join } from 'node:path';
import { ensureRequirements } from '../cluster/debian-packages.ts';
import { ensureImage } from '../cluster/images/image-cache.ts';
import { ALL_IMAGES, imageRequirements } from '../cluster/images.ts';
import { NODE_REQUIREMENTS } from '../cluster/requirements.ts';
import type { ComponentExitedError } from '../control-plane/component.ts';
import { type ProgressStream, withProgress } from '../control-plane/progress.ts';
import { type CommandResult, runCommand } from '../control-plane/run-command.ts';
import { ensureDebian, ensureDocker } from './debian.ts';
import { sendArchive } from './docker-archive.ts';
import { type Engine, publish, startEngine } from './engine.ts';
import { ensureOwnImages, ensurePublicImages } from './images.ts';
import { kindModule } from './kind-files.ts';
import { nodeImage } from './node-image.ts';
import { ensureKind, ensureNodePrograms } from './programs.ts';
import { layOut, type Workbench } from './workbench.ts';

export interface KindOptions {
  /** By default 1. */
  readonly nodes?: number;
  /** Whether Multus' image can be had. By default not: it takes two minutes to build, once. */
  readonly networks?: boolean;
  /** Where the progress of what takes long is written; by default stderr. */
  readonly progress?: ProgressStream;
}

/** The name of our node image: that of Kubernetes' version would be one of kind's own. */
const NODE_IMAGE = 'kindest/node:own';

/** All that a cluster of kind needs, and in which it is made by typing `kind create cluster`. */
export class Kind {
  readonly #engine: Engine;
  readonly #workbench: Workbench;

  constructor(engine: Engine, workbench: Workbench) {
    this.#engine = engine;
    this.#workbench = workbench;
  }

  get workbench(): Workbench {
    return this.#workbench;
  }

  get kubeconfigPath(): string {
    return this.#workbench.env.KUBECONFIG ?? '';
  }

  get logs(): string {
    return `${this.#engine.machine.directory}/logs`;
  }

  /** Resolves when Docker's engine has ended that nobody stopped. */
  get failure(): Promise<ComponentExitedError> {
    return this.#engine.failure;
  }

  /** Types a command of the documents. What was printed is in one piece, as on a terminal. */
  async type(command: string): Promise<CommandResult> {
    const { directory, env } = this.#workbench;
    const script = `cd '${directory}' && { ${command}\n} 2>&1`;
    return runCommand('bash', ['-o', 'pipefail', '-c', script], env, '');
  }

  kubectl(args: readonly string[], { input = '' } = {}): Promise<CommandResult> {
    return runCommand('kubectl', args, this.#workbench.env, input);
  }

  /** Runs a shell's commands on a node, by root. @throws Error where they fail */
  async onNode(node: string, script: string): Promise<string> {
    const args = ['exec', node, 'sh', '-c', script];
    const { code, stdout, stderr } = await runCommand('docker', args, this.#workbench.env, '');
    if (code !== 0) throw new Error(`${script} on ${node}: ${stderr.trim()}`);
    return stdout;
  }

  /** Resolves when no process, mount, network, cgroup or file is left. */
  stop(): Promise<void> {
    return this.#engine.stop();
  }
}

/**
 * Makes all that `kind create cluster` needs, and starts Docker's engine; there is no cluster yet. Rejects, leaving nothing
 * behind, where something is missing or fails.
 */
export async function startKind(options: KindOptions = {}): Promise<Kind> {
  const { nodes = 1, networks = false, progress = process.stderr } = options;
  await ensureRequirements([...NODE_REQUIREMENTS, ...imageRequirements(ALL_IMAGES)], progress);
  const docker = await ensureDocker(progress);
  const kind = await ensureKind(progress);
  const programs = await ensureNodePrograms(progress);
  const { pause = '', kubectl = '' } = programs;
  const debian = await ensureDebian(docker, progress);
  const node = await ensureImage(await nodeImage(debian, programs, await kindModule()), progress);
  const published = await ensurePublicImages(pause, networks, progress);
  const own = await ensureOwnImages(pause, progress);
  const engine = await startEngine(docker, pause);
  try {
    const images: [string, string][] = [[NODE_IMAGE, node], ...own];
    await withProgress(progress, 'loading images into Docker', async (detail) => {
      for (const [name, layout] of images) {
        detail(name);
        await sendArchive(layout, [name], 'docker', ['load'], engine.env);
      }
    });
    for (const [name, layout] of published) await publish(engine, [name], layout);
    const tools = { docker: join(docker, 'usr/bin/docker'), kind, kubectl, nodeImage: NODE_IMAGE };
    return new Kind(engine, await layOut(engine, tools, nodes));
  } catch (err) {
    await engine.stop();
    throw err;
  }
}
