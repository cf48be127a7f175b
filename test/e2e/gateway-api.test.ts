import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { load } from 'js-yaml';
import type { Cluster } from '../env/cluster/cluster.ts';
import { ensureConformanceSuite } from '../env/cluster/gateway-api/gateway-api.ts';
import { startCluster } from '../env/cluster/start-cluster.ts';
import { projectDirectory } from '../env/control-plane/project-directory.ts';
import { type CommandResult, runCommand } from '../env/control-plane/run-command.ts';
import { gatewayApiCrds } from '../env/gateway-api-crds.ts';
import { kubectl } from '../support/cluster/cluster-kubectl.ts';
import { OperatorInCluster } from '../support/cluster/operator-in-cluster.ts';
import { describeWithNode } from '../support/jest/describe-with-cluster.ts';

/** A first run builds the node, all images and the suite. */
const PREPARATION_MS = 60 * 60_000;
jest.setTimeout(30 * 60_000);

/** Kinds that the mesh tests read; Services are the parents of our routes, so the Gateways stay unused. */
const KINDS = ['gatewayclasses', 'gateways', 'grpcroutes', 'httproutes', 'referencegrants'];

/** The mesh's own extended features, and those of HTTPRoute that mesh tests ask for. */
const FEATURES = [
  'Mesh',
  'HTTPRoute',
  'GRPCRoute',
  'MeshClusterIPMatching',
  'MeshConsumerRoute',
  'MeshHTTPRouteBackendRequestHeaderModification',
  'MeshHTTPRouteNamedRouteRule',
  'MeshHTTPRouteQueryParamMatching',
  'MeshHTTPRouteRedirectPath',
  'MeshHTTPRouteRedirectPort',
  'MeshHTTPRouteRewritePath',
  'MeshHTTPRouteSchemeRedirect',
  'HTTPRoute303RedirectStatusCode',
  'HTTPRoute307RedirectStatusCode',
  'HTTPRoute308RedirectStatusCode',
  'HTTPRouteParentRefPort',
  'HTTPRouteResponseHeaderModification',
];

/** The suite's tests of these features. */
const TESTS = 23;

/** `make conformance` keeps the report in this file. */
const REPORT = process.env.CONFORMANCE_REPORT ?? '';

function conformanceArgs(report: string, version: string): string[] {
  return [
    '-test.v',
    '-gateway-class=',
    '-conformance-profiles=MESH-HTTP,MESH-GRPC',
    `-supported-features=${FEATURES.join(',')}`,
    '-namespace-labels=initializer.kubernetes.io/envoy=true',
    '-namespace-annotations=initializer.kubernetes.io/envoy-templates=transparent',
    '-cleanup-base-resources=false',
    // 3 in a row succeed by chance without a mesh.
    '-timeout-config-overrides=MaxTimeToConsistency:30;RequiredConsecutiveSuccesses:8',
    '-organization=envoy-initializer',
    '-project=envoy-initializer',
    '-url=https://example.com/envoy-initializer',
    '-contact=SECURITY.md',
    `-version=${version}`,
    `-report-output=${report}`,
  ];
}

describeWithNode('the mesh conformance suite', () => {
  let cluster: Cluster;
  let suite: CommandResult;
  /** Its parts by the profile's name: the suite writes them in any order. */
  let profiles: Readonly<Record<string, unknown>>;
  let directory = '';

  beforeAll(async () => {
    const program = await ensureConformanceSuite(process.env, process.stderr);
    cluster = await startCluster({
      images: ['echo', 'busybox', 'envoy', 'envoy-initializer', 'envoy-initializer-capture'],
    });
    const crds = await gatewayApiCrds();
    const files = KINDS.map((kind) => join(crds, `gateway.networking.k8s.io_${kind}.yaml`));
    await kubectl(cluster, ['apply', '--server-side', ...files.flatMap((file) => ['-f', file])]);
    await new OperatorInCluster({ kubectl: (...args) => cluster.kubectl(...args), own: cluster }).install();
    await kubectl(cluster, `apply --server-side -k ${join(projectDirectory(), 'deploy', 'transparent')}`);
    directory = await mkdtemp(join(tmpdir(), 'conformance-'));
    const file = REPORT || join(directory, 'report.yaml');
    const { version } = JSON.parse(await readFile(join(projectDirectory(), 'package.json'), 'utf8'));
    const { PATH = '', HOME = '' } = process.env;
    const env = { PATH, HOME, KUBECONFIG: cluster.kubeconfigPath };
    suite = await runCommand(program, conformanceArgs(file, `v${version}`), env, '');
    const report = load(await readFile(file, 'utf8')) as { profiles: readonly { readonly name: string }[] };
    profiles = Object.fromEntries(report.profiles.map((profile) => [profile.name, profile]));
  }, PREPARATION_MS);

  afterAll(async () => {
    await cluster?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  test('the mesh conformance suite of the Gateway API passes, core and extended', () => {
    const failed = suite.stdout.match(/^\s+--- FAIL: .*$/gm) ?? [];
    expect({ failed, code: suite.code }).toEqual({ failed: [], code: 0 });
    const success = { result: 'success', statistics: { Failed: 0, Skipped: 0 } };
    expect(profiles).toMatchObject({
      'MESH-GRPC': { core: success },
      'MESH-HTTP': { core: success, extended: success },
    });
  });

  test('the mesh conformance suite of the Gateway API runs every test of the features', () => {
    const passed = suite.stdout.match(/^ {4}--- PASS: .*$/gm) ?? [];
    expect(passed).toHaveLength(TESTS);
  });
});
