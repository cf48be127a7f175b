import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { deploy } from '../../hack/deploy/deploy.ts';
import type { Kubectl } from '../../hack/deploy/kubectl.ts';
import { undeploy } from '../../hack/deploy/undeploy.ts';
import { findBinaries } from '../env/control-plane/build.ts';
import type { ControlPlane } from '../env/control-plane/control-plane.ts';
import { projectDirectory } from '../env/control-plane/project-directory.ts';
import { runCommand } from '../env/control-plane/run-command.ts';
import { startControlPlane } from '../env/control-plane/start.ts';
import { must, startOperator } from '../env/operator.ts';
import { objectNames } from '../support/object-names.ts';
import { testWithControllerManager } from '../support/test-with-controller-manager.ts';

const MULTUS_CRD = 'test/env/control-plane/network-attachment-definition-crd.yaml';

let controlPlane: ControlPlane;
let before: readonly string[];
const kubectl: Kubectl = (args, options) => controlPlane.kubectl(args, options);

async function run(command: string): Promise<string> {
  return (await must(controlPlane, command.split(' '))).stdout;
}

async function apply(object: object): Promise<void> {
  await must(controlPlane, ['apply', '-f', '-'], JSON.stringify(object));
}

/** Removes all, and resolves with what it said. */
async function remove(force: boolean, timeoutSeconds = 60): Promise<readonly string[]> {
  const said: string[] = [];
  await undeploy({ kubectl, force, timeoutSeconds, say: (line) => said.push(line) });
  return said;
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
  await startOperator(controlPlane, {
    log: join(controlPlane.directory, 'operator.log'),
    ownCertificates: true,
  });
});

afterAll(async () => {
  await controlPlane?.stop();
});

describe('undeploy', () => {
  test('refuses in one line while Networks exist, and changes nothing', async () => {
    await apply(network('example-network'));
    await run('wait --for=condition=Ready network/example-network --timeout=60s');
    const installed = await objectNames(controlPlane);
    const { kubectl: KUBECTL } = await findBinaries(process.env);
    const env = { HOME: controlPlane.directory, KUBECONFIG: controlPlane.kubeconfigPath, KUBECTL };
    const cli = [join(projectDirectory(), 'hack/deploy/cli.ts'), 'undeploy'];
    const { code, stdout, stderr } = await runCommand(process.execPath, cli, env, '');
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'Networks exist, so nothing was removed (default/example-network): delete them, or write FORCE=1 to delete them and their real networks\n',
    });
    expect(await objectNames(controlPlane)).toEqual(installed);
  });

  testWithControllerManager('says what a Network waits for if its deletion does not end', async () => {
    await apply(network('held', ['example.com/held']));
    await expect(remove(true, 3)).rejects.toThrow(/^after 3 s these Networks still exist: default\/held/);
    expect(await run('get mutatingwebhookconfigurations --output=name')).toBe('');
    await run('patch network held --type=merge --patch={"metadata":{"finalizers":null}}');
  });

  testWithControllerManager(
    'with FORCE=1 deletes Networks and their real networks, lifts gates, and leaves nothing',
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

      expect(await remove(true)).toContain('pod default/waiting no longer waits for its Network');

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

  testWithControllerManager('run again finds nothing to do', async () => {
    expect(await remove(false)).toEqual([]);
  });
});

describe('deploy', () => {
  test('applies the overlay with the image, and says which pods are not ready', async () => {
    const image = 'registry.example.com:5000/envoy-initializer:1.2.3';
    const deploying = deploy({ kubectl, overlay: 'all-pods', image, timeoutSeconds: 2, say() {} });
    // There is no node here.
    await expect(deploying).rejects.toThrow(/^the operator is not ready .*\nNAME +READY(.|\n)*Pending/);
    const path = '{.spec.template.spec.containers[0].image}';
    const deployment = 'get deployment envoy-initializer --namespace=envoy-initializer';
    expect(await run(`${deployment} --output=jsonpath=${path}`)).toBe(image);
  });

  test('refuses an overlay that does not exist', async () => {
    const deploying = deploy({ kubectl, overlay: 'defualt', image: 'a:b', timeoutSeconds: 2, say() {} });
    await expect(deploying).rejects.toThrow('overlay defualt does not exist');
  });
});
