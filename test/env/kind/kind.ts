import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ensureRequirements } from '../cluster/debian-packages.ts';
import { ensureImage } from '../cluster/images/image-cache.ts';
import { OwnImageError } from '../cluster/images/operator.ts';
import { ensurePause } from '../cluster/images/pause.ts';
import { ALL_IMAGES, imageRequirements } from '../cluster/images.ts';
import { clusterObstacle } from '../cluster/obstacle.ts';
import { linkImage } from '../cluster/registry/image-links.ts';
import { NODE_REQUIREMENTS } from '../cluster/requirements.ts';
import type { ComponentExitedError } from '../control-plane/component.ts';
import { type ProgressStream, withProgress } from '../control-plane/progress.ts';
import { type CommandResult, runCommand } from '../control-plane/run-command.ts';
import { ensureDebian, ensureDocker } from './debian.ts';
import { sendArchive } from './docker-archive.ts';
import { type Engine, startEngine } from './engine.ts';
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

/** As `make image` names it, and below the registry of the documents, where it is, too. */
const OWN_IMAGE = 'envoy-initializer:0.0.1';

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

  /** Writes a file into the directory in which commands are typed. */
  async save(name: string, text: string): Promise<void> {
    const path = join(this.#workbench.directory, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
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

/** All that is to be there before Docker's engine starts. */
export interface Preparation {
  /** Stands for `/`: see `ensureDocker`. */
  readonly docker: string;
  readonly kind: string;
  readonly kubectl: string;
  readonly pause: string;
  /** OCI layouts: those that Docker has, and those that a registry would have, by name. */
  readonly loaded: ReadonlyMap<string, string>;
  readonly published: ReadonlyMap<string, string>;
}

/** What the engine alone needs: two minutes. */
async function prepareEngine(progress: ProgressStream): Promise<Pick<Preparation, 'docker' | 'pause'>> {
  await ensureRequirements([...NODE_REQUIREMENTS, ...imageRequirements(ALL_IMAGES)], progress);
  return { docker: await ensureDocker(progress), pause: await ensurePause(process.env, progress) };
}

/** Installs, builds and makes what is missing: ten minutes on a machine that has nothing yet, no time on one that has all. */
export async function prepareKind({
  networks = false,
  progress = process.stderr,
}: KindOptions): Promise<Preparation> {
  const { docker } = await prepareEngine(progress);
  const kind = await ensureKind(progress);
  const programs = await ensureNodePrograms(progress);
  const { pause = '', kubectl = '' } = programs;
  const debian = await ensureDebian(docker, progress);
  const node = await ensureImage(await nodeImage(debian, programs, await kindModule()), progress);
  const published = await ensurePublicImages(pause, networks, progress);
  const own = await ensureOwnImages(pause, progress);
  return { docker, kind, kubectl, pause, loaded: new Map([[NODE_IMAGE, node], ...own]), published };
}

/** Prepares what is missing, and starts Docker's engine. There is no cluster yet. Rejects, leaving nothing behind. */
export async function startKind(options: KindOptions = {}): Promise<Kind> {
  return startPrepared(await prepareKind(options), options);
}

async function startPrepared(
  { docker, kind, kubectl, pause, loaded, published }: Preparation,
  { nodes = 1, progress = process.stderr }: KindOptions,
): Promise<Kind> {
  const engine = await startEngine(docker, pause);
  try {
    await withProgress(progress, 'loading images into Docker', async (detail) => {
      for (const [name, layout] of loaded) {
        detail(name);
        await sendArchive(layout, [name], 'docker', ['load'], engine.env);
      }
    });
    for (const [name, layout] of published) await linkImage(engine.images, name, layout);
    const own = loaded.get(OWN_IMAGE);
    if (own !== undefined) await linkImage(engine.images, `registry.example.com/${OWN_IMAGE}`, own);
    const tools = { docker: join(docker, 'usr/bin/docker'), kind, kubectl, nodeImage: NODE_IMAGE };
    return new Kind(engine, await layOut(engine, tools, nodes));
  } catch (err) {
    await engine.stop();
    throw err;
  }
}

/** What stands in the way of a cluster of kind here, by making one of one node; undefined where nothing does. */
export async function kindObstacle(options: KindOptions): Promise<string | undefined> {
  const known = await clusterObstacle();
  if (known !== undefined) return known;
  try {
    const { docker, pause } = await prepareEngine(options.progress ?? process.stderr);
    await (await startEngine(docker, pause)).stop();
    const preparation = await prepareKind(options);
    // No image of ours: then nothing that fails is this project's.
    const loaded = new Map([...preparation.loaded].filter(([name]) => name === NODE_IMAGE));
    const kind = await startPrepared({ ...preparation, loaded }, options);
    try {
      const { code, stdout } = await kind.type('kind create cluster');
      const [why = 'kind create cluster failed'] = /^ERROR: .*/m.exec(stdout) ?? [];
      return code === 0 ? undefined : `${why}\n${stdout.trim()}`;
    } finally {
      await kind.stop();
    }
  } catch (err) {
    if (err instanceof OwnImageError) throw err;
    return err instanceof Error ? err.message : String(err);
  }
}
