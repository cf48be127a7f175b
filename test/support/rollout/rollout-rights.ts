import { join } from 'node:path';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { eventually } from '../../env/eventually.ts';
import { OPERATOR_NAMESPACE } from '../../env/operator.ts';
import type { OperatorFixture } from '../operator/operator-fixture.ts';

const ACCOUNT = `system:serviceaccount:${OPERATOR_NAMESPACE}:envoy-initializer`;

/** Gives the operator what deploy/components/rollout adds; resolves when RBAC and the fence let it write revisions. */
export async function addRolloutRights({ controlPlane, kubectl }: OperatorFixture): Promise<void> {
  const file = (name: string) => join(projectDirectory(), 'deploy/components/rollout', name);
  const fence = ['--type=json', `--patch-file=${file('fence.yaml')}`];
  await kubectl('patch', 'validatingadmissionpolicy', 'envoy-initializer-fence', ...fence);
  await kubectl('apply', '-f', file('rbac.yaml'));
  const revision = JSON.stringify({
    apiVersion: 'apps/v1',
    kind: 'ControllerRevision',
    metadata: { name: 'envoy-initializer-probe', namespace: OPERATOR_NAMESPACE },
    revision: 1,
    data: {},
  });
  await eventually('the operator may write revisions', async () => {
    const args = ['create', '--dry-run=server', `--as=${ACCOUNT}`, '--filename=-'];
    return (await controlPlane.kubectl(args, { input: revision })).stdout.includes('created');
  });
}
