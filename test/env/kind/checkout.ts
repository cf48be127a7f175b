import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { projectDirectory } from '../control-plane/project-directory.ts';
import { httpRouteCrds } from '../gateway-api-crds.ts';
import { moduleFiles } from '../go/locked-module.ts';
import { pinOf } from '../go/pins.ts';
import { MULTUS } from './programs.ts';

const REMOTE = 'https://raw.githubusercontent.com/k8snetworkplumbingwg/multus-cni/';
const MANIFEST = 'deployments/multus-daemonset-thick.yml';

/**
 * Makes a checkout of this project in a directory that is not there, for who types commands without the internet: what
 * deploy/ takes from GitHub is in it, from the Go modules of the same versions. The rest are links.
 * @throws Error where deploy/ names another version than the Go modules
 */
export async function makeCheckout(directory: string): Promise<void> {
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
