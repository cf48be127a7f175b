import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { startControlPlane } from '../../env/control-plane/start.ts';
import { eventually } from '../../env/eventually.ts';
import { listed, must } from '../../env/operator.ts';
import { MINOR, since } from '../../support/jest/since.ts';
import {
  FENCED_OBJECTS,
  type FencedCall,
  MISUSES,
  ROLLOUT_MISUSES,
  ROLLOUT_NEED,
} from '../../support/operator/fence-calls.ts';

const ACCOUNT = 'system:serviceaccount:envoy-initializer:envoy-initializer';
const REFUSAL =
  "ValidatingAdmissionPolicy 'envoy-initializer-fence' with binding 'envoy-initializer-fence' denied request: ";

let controlPlane: ControlPlane;
/** What makes kubectl use the token of the account, and nothing else. */
let stolen: readonly string[];

const admin = async (args: readonly string[], input = '') => (await must(controlPlane, args, input)).stdout;
const call = ({ args, input }: FencedCall, flags = stolen) =>
  controlPlane.kubectl([...args, ...flags], input ? { input: JSON.stringify(input) } : {});

beforeAll(async () => {
  controlPlane = await startControlPlane();
  for (const [flag, path] of [
    ['-f', 'test/env/control-plane/network-attachment-definition-crd.yaml'],
    ['-k', 'deploy/overlays/dev'],
  ] as const)
    await admin(['apply', flag, join(projectDirectory(), path)]);
  const token = (
    await admin(['create', 'token', 'envoy-initializer', '--namespace=envoy-initializer'])
  ).trim();
  const authority = join(controlPlane.directory, 'ca.pem');
  await writeFile(authority, controlPlane.caPem);
  stolen = [
    '--kubeconfig=/dev/null',
    `--server=${controlPlane.server}`,
    `--certificate-authority=${authority}`,
    `--token=${token}`,
  ];
  // From here on RBAC refuses the account nothing: what is refused, the fence refuses.
  await admin(['create', 'clusterrolebinding', 'thief', '--clusterrole=cluster-admin', `--user=${ACCOUNT}`]);
  await admin(['apply', '-f', '-'], listed(FENCED_OBJECTS));
  await eventually('the fence is up', async () => {
    const { stderr } = await call({ args: ['create', 'namespace', 'probe', '--dry-run=server'] });
    return stderr.includes(REFUSAL);
  });
});

afterAll(() => controlPlane?.stop());

/** Older API servers cannot resize pods. */
function possible<T extends readonly [string, ...unknown[]]>(calls: readonly T[]): readonly T[] {
  return calls.filter(([what]) => MINOR >= 33 || !what.startsWith('resizes'));
}

test.each(possible(MISUSES))(
  'a thief of the token is refused, even with all rights by RBAC, where it %s',
  async (_, misuse, told) => {
    const { code, stderr } = await call(misuse);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(REFUSAL) });
    expect(stderr).toMatch(told);
    expect(stderr).not.toContain('resulted in error');
  },
);

test('a thief of the token is refused as well where it only claims to be the account', async () => {
  const { stderr } = await call({ args: ['create', 'namespace', 'mine'] }, [`--as=${ACCOUNT}`]);
  expect(stderr).toContain(`${REFUSAL}the account of envoy-initializer may not CREATE namespaces`);
});

describe('overlays/rollout', () => {
  beforeAll(async () => {
    const file = join(projectDirectory(), 'deploy/components/rollout/fence.yaml');
    await admin([
      'patch',
      'validatingadmissionpolicy',
      'envoy-initializer-fence',
      '--type=json',
      `--patch-file=${file}`,
    ]);
    await eventually(
      'the fence lets the operator drain a pod',
      async () => (await call(ROLLOUT_NEED)).code === 0,
    );
  });

  test.each(possible(ROLLOUT_MISUSES))(
    'a thief of the token is refused with deploy/overlays/rollout where it %s',
    async (_, misuse, told) => {
      const { code, stderr } = await call(misuse);
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(REFUSAL) });
      expect(stderr).toMatch(told);
      expect(stderr).not.toContain('resulted in error');
    },
  );
});

test('an account of the same name elsewhere, without the right to operate Networks, is not fenced', async () => {
  const user = 'system:serviceaccount:default:envoy-initializer';
  await admin(['create', 'clusterrole', 'other', '--verb=create', '--resource=namespaces']);
  await admin(['create', 'clusterrolebinding', 'other', '--clusterrole=other', `--user=${user}`]);
  await eventually('it may create namespaces', async () => {
    const { code } = await call({ args: ['create', 'namespace', 'other'] }, [`--as=${user}`]);
    return code === 0;
  });
});

since(36).describe('policies', () => {
  const POLICY = 'envoy.initializer.kubernetes.io';
  /** Server-side apply, as the operator writes them. */
  const bind = async (name: string): Promise<string> => {
    const apiVersion = 'admissionregistration.k8s.io/v1';
    const input = {
      apiVersion,
      kind: 'MutatingAdmissionPolicyBinding',
      metadata: { name },
      spec: { policyName: POLICY },
    };
    return (await call({ args: ['apply', '--server-side', '--dry-run=server', '-f', '-'], input })).stderr;
  };

  test('writes of policies, which the API server shows to no policy, pass the fence (since 1.36)', async () => {
    expect(await bind('mine')).toBe('');
  });

  test('policies of another name are refused by RBAC (since 1.36)', async () => {
    await admin(['delete', 'clusterrolebinding', 'thief']);
    await eventually('RBAC refuses the account what its roles do not have', async () => {
      return (await bind('mine')).includes('cannot patch resource "mutatingadmissionpolicybindings"');
    });
    expect(await bind(POLICY)).toBe('');
  });
});
