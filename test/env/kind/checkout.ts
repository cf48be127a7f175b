import { createHash } from 'node:crypto';
import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { projectDirectory } from '../control-plane/project-directory.ts';
import { moduleFiles } from '../go/locked-module.ts';
import { pinOf } from '../go/pins.ts';
import { GATEWAY_API, gatewayApiModule } from '../http-route-crds.ts';
import { MULTUS } from './programs.ts';

const RAW = 'https://raw.githubusercontent.com/';

/**
 * Makes a checkout of this project in a directory that is not there, for who types commands without the internet: what
 * deploy/ takes from GitHub is beside it, from the Go modules of the same versions. The rest are links.
 * @throws Error where deploy/ names another version than the Go modules
 */
export async function makeCheckout(directory: string): Promise<void> {
  await mkdir(directory);
  for (const name of await readdir(projectDirectory())) {
    if (name !== 'deploy') await symlink(join(projectDirectory(), name), join(directory, name));
  }
  await cp(join(projectDirectory(), 'deploy'), join(directory, 'deploy'), { recursive: true });
  const multus = pinOf(MULTUS);
  const sources: Readonly<Record<string, () => Promise<string>>> = {
    [`${RAW}kubernetes-sigs/gateway-api/${GATEWAY_API.version}/`]: () => gatewayApiModule(process.env),
    [`${RAW}k8snetworkplumbingwg/multus-cni/${multus.version}/`]: () =>
      moduleFiles(multus, MULTUS, process.env),
  };
  for (const overlay of ['gateway-api', 'kind']) {
    const file = join(directory, 'deploy/overlays', overlay, 'kustomization.yaml');
    let text = await readFile(file, 'utf8');
    for (const [url] of text.matchAll(/(?<=^- )https:.*$/gm)) {
      const root = Object.keys(sources).find((prefix) => url.startsWith(prefix));
      if (root === undefined) throw new Error(`${file}: no Go module has ${url}`);
      const module = (await sources[root]?.()) ?? '';
      const name = `${createHash('sha256').update(url).digest('hex').slice(0, 12)}.yaml`;
      await writeFile(join(file, '..', name), await readFile(join(module, url.slice(root.length))));
      text = text.replace(url, name);
    }
    await writeFile(file, text);
  }
}
