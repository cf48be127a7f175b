import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { cacheRoot } from '../control-plane/cache-directory.ts';
import { projectDirectory } from '../control-plane/project-directory.ts';
import { makeCheckout } from './checkout.ts';
import type { Engine } from './engine.ts';

/** What commands of the documents are typed with. */
export interface Workbench {
  /** The checkout in which they are typed. */
  readonly directory: string;
  readonly env: NodeJS.ProcessEnv;
  /** The directory of the commands that this project adds to the PATH. */
  readonly bin: string;
}

export interface Tools {
  readonly docker: string;
  readonly kind: string;
  readonly kubectl: string;
  readonly nodeImage: string;
}

/**
 * Lays out what somebody types commands with who has Docker, kind and kubectl, but no registry and no GitHub: kind takes
 * our node image and configuration where it would take its own, `make image` finds the image made, and `docker push` finds it
 * pushed.
 */
export async function layOut(engine: Engine, tools: Tools, nodes: number): Promise<Workbench> {
  const { machine } = engine;
  const at = (name: string) => join(machine.directory, name);
  const [bin, configuration, directory] = [at('bin'), at('kind.yaml'), at('checkout')];
  await mkdir(bin);
  await makeCheckout(directory);
  await writeFile(configuration, kindConfiguration(engine, nodes));
  const commands: Readonly<Record<string, string>> = {
    kind: `if [ "$1 $2" = 'create cluster' ]; then
  shift 2
  exec ${tools.kind} create cluster --image ${tools.nodeImage} --config ${configuration} "$@"
fi
exec ${tools.kind} "$@"`,
    make: `export XDG_CACHE_HOME='${dirname(cacheRoot(process.env))}'
case $1 in
  image) exec docker image inspect --format '{{.RepoTags}}' envoy-initializer:0.0.1 ;;
  capture-image) exec docker image inspect --format '{{.RepoTags}}' envoy-initializer-capture:0.0.1 ;;
  manifests) /usr/bin/make manifests && exec ln -sfn '${join(projectDirectory(), 'out')}' . ;;
esac
exec /usr/bin/make "$@"`,
    docker: `if [ "$1" = push ]; then exec echo "$2 is there"; fi
exec ${tools.docker} "$@"`,
    'envoy-initializer': `exec '${process.execPath}' '${join(projectDirectory(), 'dist/main.js')}' "$@"`,
  };
  for (const [name, script] of Object.entries(commands)) {
    await writeFile(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }
  await symlink(tools.kubectl, join(bin, 'kubectl'));
  const { PATH, HOME, DOCKER_HOST } = engine.env;
  const path = [bin, dirname(process.execPath), PATH].join(':');
  return { directory, bin, env: { PATH: path, HOME, DOCKER_HOST, KUBECONFIG: at('kubeconfig') } };
}

function kindConfiguration({ machine, registryHosts }: Engine, nodes: number): string {
  const mount = `extraMounts: [{hostPath: ${registryHosts}, containerPath: /etc/containerd/certs.d}]`;
  const roles = ['control-plane', ...Array.from({ length: nodes - 1 }, () => 'worker')];
  return `kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
# To be reached from outside the machine.
networking: {apiServerAddress: ${machine.address}, apiServerPort: 6443}
nodes:
${roles.map((role) => `- role: ${role}\n  ${mount}\n`).join('')}`;
}
