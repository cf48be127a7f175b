import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { cacheRoot } from '../control-plane/cache-directory.ts';
import { projectDirectory } from '../control-plane/project-directory.ts';
import { httpRouteCrds } from '../gateway-api-crds.ts';
import { moduleFiles } from '../go/locked-module.ts';
import { pinOf } from '../go/pins.ts';
import type { Engine } from './engine.ts';
import { MULTUS } from './programs.ts';

const REMOTE = 'https://raw.githubusercontent.com/k8snetworkplumbingwg/multus-cni/';
const MANIFEST = 'deployments/multus-daemonset-thick.yml';

/**
 * Makes a checkout of this project in a directory that is not there, for who types commands without the internet: what
 * deploy/ takes from GitHub is in it, from the Go modules of the same versions. The rest are links.
 * @throws Error where deploy/ names another version than the Go modules
 */
async function makeCheckout(directory: string): Promise<void> {
  await mkdir(directory);
  for (const name of await readdir(projectDirectory())) {
    if (name !== 'deploy') await symlink(join(projectDirectory(), name), join(directory, name));
  }
  const overlays = join(directory, 'deploy/overlays');
  await cp(join(projectDirectory(), 'deploy'), join(directory, 'deploy'), { recursive: true });
  await cp(await httpRouteCrds(), join(overlays, 'gateway-api'), { recursive: true });
  const multus = pinOf(MULTUS);
  const file = join(overlays, 'kind/kustomization.yaml');
  const text = await readFile(file, 'utf8');
  const url = `${REMOTE}${multus.version}/${MANIFEST}`;
  if (!text.includes(url)) throw new Error(`${file}: expected ${url}, as Multus' Go module has it`);
  await writeFile(file, text.replace(url, 'multus.yaml'));
  const module = await moduleFiles(multus, MULTUS, process.env);
  await writeFile(join(overlays, 'kind/multus.yaml'), await readFile(join(module, MANIFEST)));
}

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
