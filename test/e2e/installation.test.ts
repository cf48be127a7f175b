import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { VERSION } from '../../src/kube/util/version.ts';
import type { Cluster } from '../env/cluster/cluster.ts';
import { linkOf } from '../env/cluster/registry/image-links.ts';
import { parseReference } from '../env/cluster/registry/reference.ts';
import { startCluster } from '../env/cluster/start-cluster.ts';
import { projectDirectory } from '../env/control-plane/project-directory.ts';
import { apply, podOf } from '../support/cluster/cluster-kubectl.ts';
import { stopCluster } from '../support/cluster/e2e-cluster.ts';
import { multusObstacle } from '../support/cluster/multus-obstacle.ts';
import { describeUnless } from '../support/jest/describe-unless.ts';
import { Installation } from '../support/operator/installation.ts';
import { objectNames } from '../support/operator/object-names.ts';
import { uninstall, uninstalled } from '../support/operator/uninstall.ts';

/** A first run builds the node, Multus and our own image. */
const PREPARATION_MS = 60 * 60_000;
jest.setTimeout(240_000);

const IMAGE = 'envoy-initializer:0.0.1';
const NEXT = 'envoy-initializer:next';

let cluster: Cluster;
let installation: Installation;
let before: readonly string[];

describeUnless(await multusObstacle(), 'an installation', () => {
  beforeAll(async () => {
    cluster = await startCluster({
      images: ['busybox', 'envoy-initializer'],
      multus: true,
      auditLog: 'Metadata',
    });
    installation = new Installation(cluster);
    before = await objectNames(cluster);
  }, PREPARATION_MS);

  afterAll(async () => {
    await stopCluster(cluster);
  });

  test('is one command, and shows no drift when it is complete', async () => {
    await installation.apply();
    await installation.run(
      'rollout status deployment/envoy-initializer --namespace=envoy-initializer --timeout=120s',
    );
    await installation.untilWritten();
    expect(await installation.drift()).toBe('');
  });

  test('has the command line in its pods', async () => {
    const exec = 'exec deploy/envoy-initializer --namespace=envoy-initializer --';
    expect(await installation.run(`${exec} envoy-initializer --version`)).toBe(`${VERSION}\n`);
  });

  test('is upgraded without taking back what the operator and the user have written', async () => {
    await installation.changeTemplate();
    const written = await installation.written();
    const layout = await realpath(linkOf(cluster.images, parseReference(IMAGE)));
    await cluster.loadImage(NEXT, layout);
    await installation.upgrade(NEXT, 120);
    expect(await installation.drift(NEXT)).toBe('');
    expect(await installation.written()).toEqual(written);
  });

  test('is removed by uninstall: Networks by force, the real ones too, and no object is left', async () => {
    await installation.run(`apply -f ${join(projectDirectory(), 'deploy/examples/example-network.yaml')}`);
    await installation.run('wait network/example-network --for=condition=Ready --timeout=60s');
    const gated = { schedulingGates: [{ name: 'samplecrd.k8s.io/network' }] };
    await apply(cluster, podOf('waiting', {}, gated));
    expect(await uninstall(cluster.kubeconfigPath)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('default/example-network'),
    });
    await uninstalled(cluster.kubeconfigPath, '--force');
    await installation.run('wait pod/waiting --for=condition=Ready --timeout=60s');
    await installation.run('delete pod waiting --now');
    expect((await objectNames(cluster)).filter((name) => !before.includes(name))).toEqual([]);
  });
});
