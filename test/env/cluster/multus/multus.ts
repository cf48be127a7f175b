import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Credentials } from '../../control-plane/credentials.ts';
import { renderKubeconfig } from '../../control-plane/kubeconfig.ts';
import type { ProgressStream } from '../../control-plane/progress.ts';
import { ensureGoProgram } from '../../go/go-program.ts';
import { pinOf } from '../../go/pins.ts';
import { CNI_DIRECTORIES, cniConfig } from '../container-config.ts';
import type { Machine } from '../machine.ts';

const MODULE = 'gopkg.in/k8snetworkplumbingwg/multus-cni.v4';
/** What it needs in the cluster: its rights, and the objects that it reads. */
export const MULTUS_MANIFESTS = [
  'test/env/control-plane/network-attachment-definition-crd.yaml',
  'test/env/cluster/multus/rbac.yaml',
];
/** The user of its client certificate: see rbac.yaml. */
const USER = 'multus';

/** Finds Multus in the cache, and first builds it, in a minute or more, where it is not there. Resolves to its path. */
export async function ensureMultus(env: NodeJS.ProcessEnv, progress: ProgressStream): Promise<string> {
  const program = { name: 'multus', package: `${MODULE}/cmd/multus`, pin: pinOf(MODULE) };
  return ensureGoProgram(program, env, progress);
}

/** Makes Multus the node's CNI plugin, which calls the bridge as before, and what a pod's annotation asks for. */
export async function installMultus(
  machine: Machine,
  program: string,
  podRange: string,
  credentials: Credentials,
  server: string,
): Promise<void> {
  const user = await credentials.issue({ commonName: USER, usage: 'client' });
  const kubeconfig = join(machine.directory, 'node', 'multus.kubeconfig');
  const content = renderKubeconfig({ name: USER, server, caPem: credentials.caPem, user });
  await writeFile(kubeconfig, content, { mode: 0o600 });
  await symlink(program, join(machine.outside(CNI_DIRECTORIES.plugins), 'multus'));
  const config = {
    cniVersion: '1.0.0',
    name: 'multus-cni-network',
    type: 'multus',
    capabilities: { portMappings: true },
    binDir: CNI_DIRECTORIES.plugins,
    kubeconfig,
    delegates: [JSON.parse(cniConfig(podRange))],
  };
  // Of the files there, the first by name is the one that counts.
  await writeFile(join(machine.outside(CNI_DIRECTORIES.config), '00-multus.conf'), JSON.stringify(config));
}
