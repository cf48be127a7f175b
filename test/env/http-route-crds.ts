import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { cacheRoot } from './control-plane/cache-directory.ts';
import { projectDirectory } from './control-plane/project-directory.ts';
import { moduleFiles } from './go/locked-module.ts';
import { pinOf } from './go/pins.ts';
import { makeWhole } from './whole-directory.ts';

const OVERLAY = join(projectDirectory(), 'deploy/overlays/gateway-api/kustomization.yaml');
/** The conformance suite, of the same version as the Gateway API's own module beside it. */
export const GATEWAY_API = pinOf('sigs.k8s.io/gateway-api/conformance');
const REMOTE = 'https://raw.githubusercontent.com/kubernetes-sigs/gateway-api/';

/**
 * What deploy/overlays/gateway-api takes from the network, out of the Go module of the same version: a directory for
 * `kubectl apply -k`, in the cache. It holds the files by their own names.
 * @throws Error if the overlay names another version than the Go module.
 */
export async function httpRouteCrds(env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const overlay = await readFile(OVERLAY, 'utf8');
  const urls = overlay.match(/(?<=^- )https:.*$/gm) ?? [];
  const { version } = GATEWAY_API;
  const root = `${REMOTE}${version}/`;
  const other = urls.find((url) => !url.startsWith(root));
  if (urls.length === 0 || other !== undefined)
    throw new Error(`${OVERLAY}: expected files below ${root}, got ${other ?? 'none'}`);
  const digest = createHash('sha256').update(overlay).digest('hex').slice(0, 12);
  const directory = join(cacheRoot(env), 'http-route-crds', `${version}-${digest}`);
  if (existsSync(directory)) return directory;
  await makeWhole(directory, async (_, whole) => {
    await mkdir(whole);
    const module = await gatewayApiModule(env);
    for (const url of urls) await copyFile(join(module, url.slice(root.length)), join(whole, basename(url)));
    const names = overlay.replaceAll(/(?<=^- )https:.*\//gm, () => '');
    await writeFile(join(whole, 'kustomization.yaml'), names);
  });
  return directory;
}

/** Where Go keeps the module of the Gateway API, which it first gets where it has not. */
export function gatewayApiModule(env: NodeJS.ProcessEnv): Promise<string> {
  return moduleFiles(GATEWAY_API, 'sigs.k8s.io/gateway-api', env);
}
