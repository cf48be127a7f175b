import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { cacheRoot } from '../control-plane/cache-directory.ts';
import { type CommandResult, runCommand } from '../control-plane/run-command.ts';
import { eventually } from '../eventually.ts';
import { installCommands } from './docs-commands.ts';

const TOOLS = ['docker version', 'kind version', 'kubectl version --client'] as const;

/** A cluster of kind, with kind's own node image, on the Docker that the user has. */
export class OwnKind {
  readonly #name: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #say: (text: string) => void;
  /** Its own, so that the user's kubectl goes on with the cluster that it has. */
  readonly kubeconfig: string;

  /** @param name of the cluster; @param say takes commands and what they print, line by line or in pieces */
  constructor(name: string, env: NodeJS.ProcessEnv, say: (text: string) => void) {
    this.#name = name;
    this.kubeconfig = join(cacheRoot(env), `${name}.kubeconfig`);
    this.#env = { ...env, KUBECONFIG: this.kubeconfig, KIND_CLUSTER_NAME: name };
    this.#say = say;
  }

  /** Why there can be none, such as that Docker does not answer; undefined where nothing stands in the way. */
  async obstacle(): Promise<string | undefined> {
    for (const tool of TOOLS) {
      const { code, stdout } = await this.#run(tool);
      if (code !== 0) return `\`${tool}\` fails: ${stdout.trim().split('\n').at(-1)}`;
    }
    return undefined;
  }

  async runs(): Promise<boolean> {
    return (await this.#run('kind get clusters')).stdout.split('\n').includes(this.#name);
  }

  /**
   * Makes the cluster with the operator in it, by the commands of docs/install.md; in one that runs already, installs the
   * operator again.
   * @throws Error; no cluster is left that was not there before
   */
  async install(nodes: number, networks: boolean): Promise<void> {
    const runs = await this.runs();
    await mkdir(dirname(this.kubeconfig), { recursive: true });
    const roles = ['control-plane', ...Array.from({ length: nodes - 1 }, () => 'worker')];
    const list = roles.map((role) => `{role: ${role}}`).join();
    const create = `kind create cluster --config - <<< '{kind: Cluster, apiVersion: kind.x-k8s.io/v1alpha4, nodes: [${list}]}'`;
    try {
      for (const command of await installCommands(networks)) {
        if (command !== 'kind create cluster') await this.type(command);
        else if (!runs) await this.type(nodes > 1 ? create : command);
      }
      // kube-proxy may take seconds to know a replica that is Ready.
      const pod = 'kubectl apply --dry-run=server -f deploy/examples/myapp-pod.yaml';
      await eventually('the webhook answers', async () => (await this.#run(pod)).code === 0);
    } catch (err) {
      if (!runs) await this.remove();
      throw err;
    }
  }

  /** Types a command in the working directory, and tells it and what it printed. @throws Error where it fails */
  async type(command: string): Promise<void> {
    this.#say(`$ ${command}`);
    const { code, stdout } = await this.#run(command);
    this.#say(stdout.trim());
    if (code !== 0) throw new Error(`\`${command}\` ended with code ${code}`);
  }

  async remove(): Promise<void> {
    await this.#run('kind delete cluster');
  }

  /** What was printed is in one piece, as on a terminal. */
  #run(command: string): Promise<CommandResult> {
    return runCommand('bash', ['-o', 'pipefail', '-c', `{ ${command}\n} 2>&1`], this.#env, '');
  }
}
