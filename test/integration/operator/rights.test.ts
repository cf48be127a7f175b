import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { loadAll } from 'js-yaml';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { startControlPlane } from '../../env/control-plane/start.ts';
import { must } from '../../env/operator.ts';
import { since } from '../../support/jest/since.ts';
import { walkOperator } from '../../support/operator/operator-walk.ts';
import {
  type Call,
  fencedCalls,
  forbiddenCalls,
  type Grant,
  grantsOf,
  operatorCalls,
  unusedGrants,
} from '../../support/operator/rights.ts';

const OWNERS = 'OwnerReferencesPermissionEnforcement asks it of who gives an object an owner';
const APPLIED = 'server-side apply asks for it where there is nothing yet, and is a patch in the audit log';
const ALL_PODS = 'what all-pods has beside it, which must be removed where it is all pods no more';
const POLICIES = 'mutatingadmissionpolicies.admissionregistration.k8s.io';
const VERSION_BEFORE =
  'the version before, which works under these manifests while an update runs, has IPAMClaims';
const TENANT_ROLE = 'envoy-initializer-network-tenant';
const BINDINGS = 'mutatingadmissionpolicybindings.admissionregistration.k8s.io';
const POLICY = 'envoy.initializer.kubernetes.io';

/** What deploy/base grants and no call may need here, and why it is granted all the same. */
const MAY_GO_UNUSED: ReadonlyMap<string, string> = new Map<string, string>([
  ['delete mutatingwebhookconfigurations.admissionregistration.k8s.io envoy-initializer', OWNERS],
  ['delete validatingwebhookconfigurations.admissionregistration.k8s.io envoy-initializer', OWNERS],
  [
    'get network-attachment-definitions.k8s.cni.cncf.io',
    'a Network that goes before the cache shows what it became: a moment that no test can choose',
  ],
  ...[`${POLICIES} ${POLICY}`, `${POLICIES} namespace.${POLICY}`].map(
    (of) => [`create ${of}`, APPLIED] as const,
  ),
  ...[`${BINDINGS} ${POLICY}`, `${BINDINGS} namespace.${POLICY}`].map(
    (of) => [`create ${of}`, APPLIED] as const,
  ),
  ...['create', 'patch', 'delete'].map((verb) => [`${verb} ${BINDINGS} all.${POLICY}`, ALL_PODS] as const),
  ...['list ipamclaims', 'watch ipamclaims', 'patch ipamclaims/status'].map(
    (of) => [`${of}.k8s.cni.cncf.io`, VERSION_BEFORE] as const,
  ),
  ['update networks/finalizers.samplecrd.k8s.io', OWNERS],
  ['operate networks.operator.samplecrd.k8s.io', 'admission policies know the operator by it'],
]);

let controlPlane: ControlPlane;
let calls: readonly Call[];

beforeAll(async () => {
  controlPlane = await startControlPlane({ auditLog: 'Metadata' });
  await walkOperator(controlPlane);
  calls = await operatorCalls(controlPlane.auditLogPath);
});

afterAll(() => controlPlane?.stop());

/** What the roles of an overlay grant, of one kind. */
async function granted(overlay: string, kind: 'Role' | 'ClusterRole'): Promise<readonly Grant[]> {
  const directory = join(projectDirectory(), 'deploy/overlays', overlay);
  const { stdout } = await must(controlPlane, ['kustomize', directory]);
  const objects = loadAll(stdout) as {
    kind: string;
    metadata: { name: string };
    rules: Parameters<typeof grantsOf>[0];
  }[];
  // The operator does not have the role for tenants.
  const own = objects.filter((each) => each.kind === kind && each.metadata.name !== TENANT_ROLE);
  return own.flatMap(({ rules }) => grantsOf(rules));
}

/** Older API servers have no admission policies that inject, for which it needs rights. */
since(36).describe('rights', () => {
  test('the operator needs no right that it has not (since 1.36)', async () => {
    expect(calls.length).toBeGreaterThan(50);
    expect(await forbiddenCalls(controlPlane.auditLogPath)).toEqual([]);
  });

  test('the operator is refused nothing by the fence (since 1.36)', async () => {
    expect(await fencedCalls(controlPlane.auditLogPath)).toEqual([]);
  });

  test('the operator has no right that it does not need, but those listed with a reason (since 1.36)', async () => {
    const inNamespace = calls.filter(({ namespace }) => namespace === 'envoy-initializer');
    const [everywhere, inside] = [await granted('default', 'ClusterRole'), await granted('default', 'Role')];
    const unused = [...unusedGrants(everywhere, calls), ...unusedGrants(inside, inNamespace)];
    expect(unused.filter((grant) => !MAY_GO_UNUSED.has(grant))).toEqual([]);
    const names = new Set(unusedGrants([...everywhere, ...inside], []));
    expect([...MAY_GO_UNUSED.keys()].filter((grant) => !names.has(grant))).toEqual([]);
  });

  test('the operator may write no policy where an overlay does without (since 1.36)', async () => {
    const grants = await granted('without-policies', 'ClusterRole');
    const ofPolicies = grants.filter(({ resource }) => resource.includes('admissionpolic'));
    expect(new Set(ofPolicies.map(({ verb }) => verb))).toEqual(new Set(['list', 'watch', 'delete']));
  });

  test('the operator has no right that a wildcard gives (since 1.36)', async () => {
    const all = [...(await granted('default', 'ClusterRole')), ...(await granted('default', 'Role'))];
    expect(all.filter(({ verb, resource }) => `${verb} ${resource}`.includes('*'))).toEqual([]);
  });
});
