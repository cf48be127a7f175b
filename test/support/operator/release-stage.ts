import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureTool, type ToolName } from '../../../hack/release/tools.ts';
import { ensureRequirements } from '../../env/cluster/debian-packages.ts';
import { ensureImage } from '../../env/cluster/images/image-cache.ts';
import { nodeBaseImage } from '../../env/cluster/images/node-base.ts';
import { imageRequirements } from '../../env/cluster/images.ts';
import { cacheRoot } from '../../env/control-plane/cache-directory.ts';
import { freePorts } from '../../env/control-plane/free-ports.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { type CommandResult, runCommand } from '../../env/control-plane/run-command.ts';
import { type Supervisor, startSupervisor } from '../../env/control-plane/supervisor.ts';
import { eventually } from '../../env/eventually.ts';

const PASSWORD = 'of the test';
/** The registry has no certificate, and a container here has no network of its own. */
const BUILD_FLAGS = '--layers --isolation chroot --network host --tls-verify=false';

/** Paths of the tools. */
type Tools = Readonly<Record<ToolName, string>>;

/** A registry of this machine, a user with two pairs of keys (`cosign` and `other`), and the tools of a release. */
export class ReleaseStage {
  /** As in `127.0.0.1:41234`. */
  readonly registry: string;
  readonly directory: string;
  readonly builder: string;
  /** Of the keys. */
  readonly password = PASSWORD;
  readonly #supervisor: Supervisor;
  readonly #env: Readonly<Record<string, string>>;

  private constructor(directory: string, registry: string, supervisor: Supervisor, tools: Tools) {
    this.directory = directory;
    this.registry = registry;
    this.builder = join(directory, 'bin', 'buildah');
    this.#supervisor = supervisor;
    const { HOME = '/', PATH = '', XDG_CACHE_HOME = '' } = process.env;
    const path = [join(directory, 'bin'), PATH, '/usr/sbin', '/sbin'].join(':');
    const { cosign: COSIGN, crane: CRANE, helm: HELM } = tools;
    this.#env = { HOME, PATH: path, XDG_CACHE_HOME, COSIGN, CRANE, HELM, COSIGN_PASSWORD: PASSWORD };
  }

  static async start(): Promise<ReleaseStage> {
    await ensureRequirements(imageRequirements(['envoy-initializer']), process.stderr);
    const crane = await ensureTool('crane', process.env, process.stderr);
    const cosign = await ensureTool('cosign', process.env, process.stderr);
    const helm = await ensureTool('helm', process.env, process.stderr);
    const directory = await mkdtemp(join(cacheRoot(process.env), 'release-'));
    const supervisor = await startSupervisor();
    const [port] = await freePorts(1);
    const registry = `127.0.0.1:${port}`;
    const blobs = join(directory, 'registry');
    await mkdir(blobs);
    const args = ['registry', 'serve', '--address', registry, '--disk', blobs];
    await supervisor.start({ name: 'registry', command: crane, args });
    await eventually('the registry answers', () => fetch(`http://${registry}/v2/`).then(({ ok }) => ok));
    const stage = new ReleaseStage(directory, registry, supervisor, { crane, cosign, helm });
    await stage.#prepare({ crane, cosign, helm });
    return stage;
  }

  /** Types a command in the user's directory, with cosign and crane on the PATH. */
  async type(command: string): Promise<CommandResult> {
    return runCommand('bash', ['-c', `cd '${this.directory}' && ${command}`], this.#env, '');
  }

  /** Types a command, and resolves to what it prints. Rejects where it fails. */
  async succeed(command: string): Promise<string> {
    const { code, stdout, stderr } = await this.type(command);
    if (code !== 0) throw new Error(`${command} ended with code ${code}: ${stderr}`);
    return stdout;
  }

  /** Pushes a base image that needs no other registry, and resolves to its reference by tag and digest. */
  async pushBase(): Promise<string> {
    const layout = await ensureImage(await nodeBaseImage(), process.stderr);
    const tag = `${this.registry}/node:26-slim`;
    const reference = await this.succeed(`crane push '${layout}' ${tag}`);
    return `${tag}@${reference.trim().split('@')[1]}`;
  }

  /** Runs `make release` of this project, with uncommitted changes if there are any. Resolves to what it prints. */
  async release(image: string, base: string): Promise<string> {
    const variables = [
      ...[`IMAGE=${image}`, `BASE=${base}`, `KEY=${this.directory}/cosign.key`, `BUILDER=${this.builder}`],
      // The time of files as other tests have it, whose layers are then found.
      ...[`BUILD_FLAGS=${BUILD_FLAGS}`, 'PUSH_FLAGS=--tls-verify=false', 'SOURCE_DATE_EPOCH=0', 'FORCE=1'],
    ];
    // The packages are there: this test runs from them.
    const make = 'make --no-print-directory --assume-old=node_modules/.installed';
    const quoted = variables.map((variable) => `'${variable}'`).join(' ');
    return this.succeed(`${make} --directory '${projectDirectory()}' release ${quoted}`);
  }

  /** Ends the registry, and removes what was pushed to it from the storage that is shared, too. */
  async stop(): Promise<void> {
    await this.#supervisor.stop();
    const names = "--format '{{.Name}}:{{.Tag}}'";
    const list = `buildah images ${names} --filter reference='${this.registry}/*'`;
    // By name: another test may have the same image under another.
    await this.type(`${list} | grep -v '<none>' | xargs --no-run-if-empty buildah rmi`);
    await rm(this.directory, { recursive: true });
  }

  async #prepare(tools: Tools): Promise<void> {
    await mkdir(join(this.directory, 'bin'));
    for (const [name, path] of Object.entries(tools)) await symlink(path, join(this.directory, 'bin', name));
    for (const name of ['cosign', 'other']) {
      await this.succeed(`cosign generate-key-pair --output-key-prefix ${name}`);
    }
    await this.#writeBuilder();
  }

  /** buildah with a storage of the project's own, which holds the layers that other tests have built. */
  async #writeBuilder(): Promise<void> {
    const scratch = join(this.directory, 'buildah');
    const configuration = join(scratch, '.config', 'containers');
    await mkdir(configuration, { recursive: true });
    const policy = { default: [{ type: 'insecureAcceptAnything' }] };
    await writeFile(join(configuration, 'policy.json'), JSON.stringify(policy));
    const machine = join(projectDirectory(), 'test', 'env', 'cluster', 'machine.sh');
    const root = join(cacheRoot(process.env), 'buildah', 'root');
    const storage = `--root '${root}' --runroot '${scratch}/run' --storage-driver overlay`;
    const script = [
      '#!/bin/sh',
      `export HOME='${scratch}' TMPDIR='${scratch}'`,
      `exec sh '${machine}' overlaid '${scratch}' /usr/bin/buildah ${storage} "$@"`,
    ];
    await writeFile(this.builder, `${script.join('\n')}\n`, { mode: 0o755 });
  }
}
