import { join } from 'node:path';
import { readPinnedModule } from '../../control-plane/pinned-module.ts';
import type { ProgressStream } from '../../control-plane/progress.ts';
import { projectDirectory } from '../../control-plane/project-directory.ts';
import { gatewayApiModule } from '../../http-route-crds.ts';
import { ensureGoProgram } from '../go-program.ts';

/** Kinds that the suite's mesh tests read; Services are the parents of our routes, so the Gateways stay unused. */
const KINDS = ['gatewayclasses', 'gateways', 'grpcroutes', 'httproutes', 'referencegrants'];
const ECHO_PACKAGE = 'istio.io/istio/pkg/test/echo/cmd';

/** The official conformance suite of the Gateway API as a program; built, in minutes, where the cache has none. */
export async function ensureConformanceSuite(
  env: NodeJS.ProcessEnv,
  progress: ProgressStream,
): Promise<string> {
  return ensure('gateway-api-conformance', 'conformance', '.', ['main.go'], env, progress);
}

/** The programs of the echo app that the mesh tests call; built where the cache has none. */
export async function ensureEcho(
  env: NodeJS.ProcessEnv,
  progress: ProgressStream,
): Promise<{ readonly client: string; readonly server: string }> {
  const program = (name: string) =>
    ensure(`echo-${name}`, 'echo', `${ECHO_PACKAGE}/${name}`, [], env, progress);
  return { client: await program('client'), server: await program('server') };
}

/** The files of the Gateway API's standard CRDs, of the suite's version. */
export async function gatewayApiCrds(): Promise<string[]> {
  const crds = join(await gatewayApiModule(process.env), 'config', 'crd', 'standard');
  return KINDS.map((kind) => join(crds, `gateway.networking.k8s.io_${kind}.yaml`));
}

async function ensure(
  name: string,
  module: string,
  source: string,
  files: readonly string[],
  env: NodeJS.ProcessEnv,
  progress: ProgressStream,
): Promise<string> {
  const directory = moduleDirectory(module);
  const { goVersion } = await readPinnedModule();
  const sources = ['go.mod', 'go.sum', ...files].map((file) => join(directory, file));
  return ensureGoProgram({ name, directory, package: source, goVersion, sources }, env, progress);
}

function moduleDirectory(module: string): string {
  return join(projectDirectory(), 'test', 'env', 'cluster', 'gateway-api', module);
}
