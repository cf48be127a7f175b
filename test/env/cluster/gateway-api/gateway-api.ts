import { join } from 'node:path';
import type { ProgressStream } from '../../control-plane/progress.ts';
import { projectDirectory } from '../../control-plane/project-directory.ts';
import { ensureGoProgram } from '../../go/go-program.ts';
import { pinOf } from '../../go/pins.ts';
import { GATEWAY_API, gatewayApiModule } from '../../http-route-crds.ts';

/** Kinds that the suite's mesh tests read; Services are the parents of our routes, so the Gateways stay unused. */
const KINDS = ['gatewayclasses', 'gateways', 'grpcroutes', 'httproutes', 'referencegrants'];
const ISTIO = pinOf('istio.io/istio');

/** The official conformance suite of the Gateway API as a program; built, in minutes, where the cache has none. */
export async function ensureConformanceSuite(
  env: NodeJS.ProcessEnv,
  progress: ProgressStream,
): Promise<string> {
  const source = join(projectDirectory(), 'test', 'env', 'cluster', 'gateway-api', 'conformance.go');
  return ensureGoProgram(
    { name: 'gateway-api-conformance', package: source, pin: GATEWAY_API },
    env,
    progress,
  );
}

/** The programs of the echo app that the mesh tests call; built where the cache has none. */
export async function ensureEcho(
  env: NodeJS.ProcessEnv,
  progress: ProgressStream,
): Promise<{ readonly client: string; readonly server: string }> {
  const program = (name: string) => {
    const source = `istio.io/istio/pkg/test/echo/cmd/${name}`;
    return ensureGoProgram({ name: `echo-${name}`, package: source, pin: ISTIO }, env, progress);
  };
  return { client: await program('client'), server: await program('server') };
}

/** The files of the Gateway API's standard CRDs, of the suite's version. */
export async function gatewayApiCrds(): Promise<string[]> {
  const crds = join(await gatewayApiModule(process.env), 'config', 'crd', 'standard');
  return KINDS.map((kind) => join(crds, `gateway.networking.k8s.io_${kind}.yaml`));
}
