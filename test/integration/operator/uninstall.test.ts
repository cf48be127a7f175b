import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { render } from '../../../hack/helm/render.ts';
import { findBinaries } from '../../env/control-plane/build.ts';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { startControlPlane } from '../../env/control-plane/start.ts';
import { must, type Operator, startOperator } from '../../env/operator.ts';
import { objectNames } from '../../support/operator/object-names.ts';
import { testWithControllerManager } from '../../support/operator/test-with-controller-manager.ts';
import { uninstall, uninstalled } from '../../support/operator/uninstall.ts';

const MULTUS_CRD = 'test/env/control-plane/network-attachment-definition-crd.yaml';

let controlPlane: ControlPlane;
let before: readonly string[];
let operator: Operator;

async function run(command: string): Promise<string> {
  return (await must(controlPlane, command.split(' '))).stdout;
}

async function apply(object: object): Promise<void> {
  await must(controlPlane, ['apply', '-f', '-'], JSON.stringify(object));
}

/** What the fleet loop makes where a pod needs the ConfigMap `envoy`. */
async function applyCopy(name: string): Promise<void> {
  const labels = { 'initializer.kubernetes.io/copy-of': 'envoy-initializer' };
  const metadata = { name, namespace: 'default', labels };
  const copy = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'envoy.json': '{}' } };
  const flags = ['--server-side', '--field-manager=envoy-initializer-copies'];
  await must(controlPlane, ['apply', ...flags, '-f', '-'], JSON.stringify(copy));
}

function network(name: string, finalizers: readonly string[] = []): object {
  return {
    apiVersion: 'samplecrd.k8s.io/v1',
    kind: 'Network',
    metadata: { name, namespace: 'default', finalizers },
    spec: { cidr: '192.168.0.0/16', gateway: '192.168.0.1' },
  };
}

beforeAll(async () => {
  controlPlane = await startControlPlane();
  await run(`apply -f ${join(projectDirectory(), MULTUS_CRD)}`);
  before = await objectNames(controlPlane);
  operator = await startOperator(controlPlane, {
    log: join(controlPlane.directory, 'operator.log'),
    ownCertificates: true,
  });
});

afterAll(() => controlPlane?.stop());

const FINALIZER = 'samplecrd.k8s.io/network-cleanup';

/** A Network and its definition, as an operator leaves them that is gone. */
async function applyOrphans(): Promise<void> {
  await apply(network('orphan', [FINALIZER]));
  await apply({
    apiVersion: 'k8s.cni.cncf.io/v1',
    kind: 'NetworkAttachmentDefinition',
    metadata: {
      name: 'orphan',
      namespace: 'default',
      finalizers: [FINALIZER],
      ownerReferences: [
        {
          apiVersion: 'samplecrd.k8s.io/v1',
          kind: 'Network',
          name: 'orphan',
          uid: await run('get network orphan --output=jsonpath={.metadata.uid}'),
        },
      ],
    },
  });
}

/** Expects that it says why it removes nothing, and that it removes nothing. */
async function refused(why: string): Promise<void> {
  const installed = await objectNames(controlPlane);
  expect(await uninstall(controlPlane.kubeconfigPath)).toEqual({
    code: 2,
    stdout: '',
    stderr: `error: ${why}\n`,
  });
  expect(await objectNames(controlPlane)).toEqual(installed);
}

test('uninstall refuses in one line while Networks exist, and changes nothing', async () => {
  await apply(network('example-network'));
  await run('wait --for=condition=Ready network/example-network --timeout=60s');
  await refused(
    'Networks exist (default/example-network), so nothing was removed: delete them, or use --force (make undeploy FORCE=1): both also delete the real networks',
  );
});

testWithControllerManager(
  'uninstall with --force deletes Networks and their real networks, lifts gates, and leaves nothing',
  async () => {
    await apply(network('example-network'));
    await run('wait --for=condition=Ready network/example-network --timeout=60s');
    expect(await run('get network-attachment-definitions --output=name')).not.toBe('');
    await apply({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: 'waiting',
        namespace: 'default',
        annotations: { 'samplecrd.k8s.io/network': 'nowhere' },
      },
      spec: {
        schedulingGates: [{ name: 'example.com/other' }, { name: 'samplecrd.k8s.io/network' }],
        containers: [{ name: 'app', image: 'busybox' }],
      },
    });
    await applyCopy('envoy');
    await applyCopy('taken-over');
    await run('patch configmap taken-over --type=merge --patch={"data":{"envoy.json":"mine"}}');
    // The Deployment that the process here stands for.
    await run(`apply -k ${join(projectDirectory(), 'deploy/overlays/default')}`);
    await run(
      'wait deployment/envoy-initializer --namespace=envoy-initializer --for=jsonpath={.status.replicas}=2',
    );

    const said = (await uninstalled(controlPlane.kubeconfigPath, '--force')).split('\n');
    expect(said).toEqual(
      expect.arrayContaining([
        'deleted network default/example-network',
        'deleted deployment envoy-initializer/envoy-initializer',
        'pod default/waiting no longer waits for its Network',
        'deleted configmap default/envoy',
        'deleted namespace envoy-initializer',
        'deleted customresourcedefinition networks.samplecrd.k8s.io',
      ]),
    );

    expect(await run('get pod waiting --output=jsonpath={.spec.schedulingGates[*].name}')).toBe(
      'example.com/other',
    );
    await run('delete pod waiting --now');
    expect(await run('get configmap taken-over --output=jsonpath={.data}{.metadata.labels}')).toBe(
      '{"envoy.json":"mine"}',
    );
    await run('delete configmap taken-over');
    expect(await objectNames(controlPlane)).toEqual(before);
  },
);

testWithControllerManager(
  'uninstall without an operator offers --force, which removes the finalizers',
  async () => {
    operator.process.kill();
    await operator.process.exited;
    await run(`apply -k ${join(projectDirectory(), 'deploy/overlays/networks')}`);
    await applyOrphans();
    const refused = await uninstall(controlPlane.kubeconfigPath);
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /\(default\/orphan\), so nothing was removed: no operator is leader in namespace envoy-initializer, .* use --force/,
      ),
    });
    const said = await uninstalled(controlPlane.kubeconfigPath, '--force');
    expect(said).toContain('no operator is leader in namespace envoy-initializer: removing the finalizers.');
    expect(said).toContain('deleted networkattachmentdefinition default/orphan');
    expect(said).toContain('stay in /opt/cni/bin; ');
    expect(await run('get network-attachment-definitions --all-namespaces --output=name')).toBe('');
    expect(await objectNames(controlPlane)).toEqual(before);
  },
);

testWithControllerManager(
  'uninstall leaves a namespace without the label, and what others have there',
  async () => {
    await run('create namespace shared');
    await run('create configmap of-others --namespace=shared');
    const manifests = await render((await findBinaries(process.env)).kubectl, [], 'shared');
    await must(controlPlane, ['apply', '-f', '-'], [...manifests.values()].join('---\n'));
    await run('create configmap envoy --namespace=shared');
    await refused(
      'the operator is in namespace shared, not in envoy-initializer, so nothing was removed: use --operator-namespace=shared',
    );
    const said = await uninstalled(controlPlane.kubeconfigPath, '--operator-namespace=shared');
    expect(said).toContain(
      'namespace shared is kept, because it does not have the label app=envoy-initializer\n',
    );
    expect(
      await run(
        'get all,configmaps,secrets,roles,rolebindings,serviceaccounts --namespace=shared --output=name',
      ),
    ).toBe('configmap/kube-root-ca.crt\nconfigmap/of-others\nserviceaccount/default\n');
    await run('delete namespace shared');
    expect(await objectNames(controlPlane)).toEqual(before);
  },
);
