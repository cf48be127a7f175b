import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { cacheRoot } from './control-plane/cache-directory.ts';
import { hasCode } from './control-plane/has-code.ts';
import { projectDirectory } from './control-plane/project-directory.ts';

const OVERLAY = join(projectDirectory(), 'deploy/overlays/gateway-api/kustomization.yaml');
/** The Go module that pins the Gateway API. */
const MODULE = join(projectDirectory(), 'test/env/cluster/gateway-api/conformance');
const NAME = 'sigs.k8s.io/gateway-api';
const REMOTE = 'https://raw.githubusercontent.com/kubernetes-sigs/gateway-api/';

/**
 * What deploy/overlays/gateway-api takes from the network, out of the Go module of the same version: a directory for
 * `kubectl apply -k`, in the cache. It holds the files by their own names.
 * @throws Error if the overlay names another version than the Go module.
 */
export async function httpRouteCrds(env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const overlay = await readFile(OVERLAY, 'utf8');
  const urls = overlay.match(/(?<=^- )https:.*$/gm) ?? [];
  const [, version] = new RegExp(`^\\t${NAME} (v\\S+)`, 'm').exec(await goMod()) ?? [];
  const root = `${REMOTE}${version}/`;
  const other = urls.find((url) => !url.startsWith(root));
  if (urls.length === 0 || other !== undefined)
    throw new Error(`${OVERLAY}: expected files below ${root}, got ${other ?? 'none'}`);
  const digest = createHash('sha256').update(overlay).digest('hex').slice(0, 12);
  const directory = join(cacheRoot(env), 'http-route-crds', `${version}-${digest}`);
  if (existsSync(directory)) return directory;
  await mkdir(dirname(directory), { recursive: true });
  const filling = await mkdtemp(`${directory}.`);
  try {
    const module = await gatewayApiModule(env);
    for (const url of urls)
      await copyFile(join(module, url.slice(root.length)), join(filling, basename(url)));
    await writeFile(
      join(filling, 'kustomization.yaml'),
      overlay.replaceAll(/(?<=^- )https:.*\//gm, () => ''),
    );
    // Another process may have been faster: its directory is the same.
    await rename(filling, directory).catch((err: unknown) => {
      if (!existsSync(directory)) throw err;
    });
  } finally {
    await rm(filling, { recursive: true, force: true });
  }
  return directory;
}

async function goMod(): Promise<string> {
  return await readFile(join(MODULE, 'go.mod'), 'utf8');
}

/** Where Go keeps the module of the Gateway API, which it first gets where it has not. */
export async function gatewayApiModule(env: NodeJS.ProcessEnv): Promise<string> {
  const download = promisify(execFile)('go', ['mod', 'download', '-json', NAME], { cwd: MODULE, env });
  const { stdout } = await download.catch((cause: unknown) => {
    if (!hasCode(cause, 'ENOENT')) throw cause;
    throw new Error(
      `the CRDs of ${NAME} come as a Go module, and there is no \`go\` on the PATH: install Go`,
    );
  });
  return (JSON.parse(stdout) as { readonly Dir: string }).Dir;
}
