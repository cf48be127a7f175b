import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { cacheRoot } from './control-plane/cache-directory.ts';
import { projectDirectory } from './control-plane/project-directory.ts';
import { moduleTexts } from './go/locked-module.ts';
import { type Pin, pinsOf } from './go/pins.ts';
import { makeWhole } from './whole-directory.ts';

const OVERLAY = join(projectDirectory(), 'deploy/overlays/gateway-api/kustomization.yaml');
const STANDARD = 'config/crd/standard';
const REMOTE = 'https://raw.githubusercontent.com/kubernetes-sigs/gateway-api/';

/** The newest patch of each minor version that we work with, the oldest first. */
export const GATEWAY_APIS = pinsOf('sigs.k8s.io/gateway-api');

/**
 * The CRDs of the standard channel of a version, by default the newest: a directory in the cache with a file for each,
 * such as `gateway.networking.k8s.io_httproutes.yaml`.
 */
export async function gatewayApiCrds(
  pin: Pin | undefined = GATEWAY_APIS.at(-1),
  env: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  if (pin === undefined) throw new Error('expected a version of the Gateway API, got none');
  const directory = join(cacheRoot(env), 'gateway-api-crds', `${pin.version}-${digestOf(pin.lock)}`);
  if (existsSync(directory)) return directory;
  await makeWhole(directory, async (_, whole) => {
    await mkdir(whole);
    const texts = await moduleTexts(pin, STANDARD, env);
    for (const [name, text] of texts) await writeFile(join(whole, name), text);
  });
  return directory;
}

/**
 * What deploy/overlays/gateway-api takes from the network, out of the Go module of the same version: a directory for
 * `kubectl apply -k`, in the cache. It holds the files by their own names.
 * @throws Error if the overlay names another version than the newest Go module.
 */
export async function httpRouteCrds(env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const overlay = await readFile(OVERLAY, 'utf8');
  const urls = overlay.match(/(?<=^- )https:.*$/gm) ?? [];
  const root = `${REMOTE}${GATEWAY_APIS.at(-1)?.version}/${STANDARD}/`;
  const other = urls.find((url) => !url.startsWith(root));
  if (urls.length === 0 || other !== undefined)
    throw new Error(`${OVERLAY}: expected files below ${root}, got ${other ?? 'none'}`);
  const directory = join(cacheRoot(env), 'http-route-crds', digestOf(overlay));
  if (existsSync(directory)) return directory;
  const crds = await gatewayApiCrds(undefined, env);
  await makeWhole(directory, async (_, whole) => {
    await mkdir(whole);
    for (const url of urls) await copyFile(join(crds, basename(url)), join(whole, basename(url)));
    const names = overlay.replaceAll(/(?<=^- )https:.*\//gm, () => '');
    await writeFile(join(whole, 'kustomization.yaml'), names);
  });
  return directory;
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}
