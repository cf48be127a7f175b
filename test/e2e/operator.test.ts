import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { VERSION } from '../../src/kube/util/version.ts';
import type { Cluster } from '../env/cluster/cluster.ts';
import { startCluster } from '../env/cluster/start-cluster.ts';
import { ensureBinaries } from '../env/control-plane/build.ts';
import { projectDirectory } from '../env/control-plane/project-directory.ts';
import { apply, kubectl, podOf, shell } from '../support/cluster/cluster-kubectl.ts';
import { stopCluster } from '../support/cluster/e2e-cluster.ts';
import { multusObstacle } from '../support/cluster/multus-obstacle.ts';
import { OperatorInCluster } from '../support/cluster/operator-in-cluster.ts';
import { describeUnless } from '../support/jest/describe-unless.ts';

/** A first run builds the node, Envoy's image, Multus and our own image. */
const PREPARATION_MS = 60 * 60_000;
jest.setTimeout(180_000);

let cluster: Cluster;

const examples = join(projectDirectory(), 'deploy', 'examples');
const ENVOY_JSON = join(projectDirectory(), 'deploy/envoy/envoy.json');

function run(args: string): Promise<string> {
  return kubectl(cluster, args);
}

/** Both containers of a pod, by their state. */
async function containersOf(selector: string): Promise<object[]> {
  const { items } = JSON.parse(await run(`get pods ${selector} -o json`));
  return items.map((pod: { status: { containerStatuses: readonly { name: string; ready: boolean }[] } }) =>
    Object.fromEntries(pod.status.containerStatuses.map(({ name, ready }) => [name, ready])),
  );
}

// The steps of docs/install.md, and the demo's, on a node that runs what is applied.
describeUnless(await multusObstacle(), 'the operator, from its own image and manifests', () => {
  beforeAll(async () => {
    cluster = await startCluster({
      images: ['busybox', 'envoy', 'envoy-initializer'],
      multus: true,
      auditLog: 'Metadata',
    });
    await new OperatorInCluster({
      own: cluster,
      kubectl: (...call) => cluster.kubectl(...call),
    }).installNetworks();
    await run(`apply -f ${join(examples, 'template.yaml')}`);
    await apply(cluster, podOf('client'));
  }, PREPARATION_MS);

  afterAll(async () => {
    await stopCluster(cluster);
  });

  test('puts Envoy beside the demo’s pod, and both containers run', async () => {
    await run(`create configmap envoy --from-file ${ENVOY_JSON}`);
    await run(`apply -f ${join(examples, 'myapp-pod.yaml')}`);
    await run('wait pod/myapp-pod --for=condition=Ready --timeout=90s');
    await expect(containersOf('-l app=myapp')).resolves.toEqual([{ 'myapp-container': true, envoy: true }]);
    await expect(run('logs myapp-pod --container myapp-container')).resolves.toBe('Hello Kubernetes!\n');
  });

  test('answers for a Deployment in a namespace that opts in, which knows nothing of it', async () => {
    await run(`apply -f ${join(examples, 'helloworld.yaml')}`);
    await run('rollout status deployment/helloworld --namespace helloworld --timeout=90s');
    await run('wait pod/client --for=condition=Ready --timeout=60s');
    const path = '-o jsonpath={.items[0].status.podIP}';
    const address = await run(`get pods --namespace helloworld -l app=helloworld ${path}`);
    const answer = await shell(cluster, 'client', `wget -S -O- http://${address} 2>&1`);
    expect(answer).toMatch(/server: envoy/);
    expect(answer).toMatch(/Hello Kubernetes!/);
  });

  test('makes of a Network one that carries packets between pods', async () => {
    await run(`apply -f ${join(examples, 'example-network.yaml')}`);
    await run('wait network/example-network --for=condition=Ready --timeout=60s');
    const annotations = { 'k8s.v1.cni.cncf.io/networks': 'example-network' };
    await apply(cluster, ...['left', 'right'].map((name) => podOf(name, {}, {}, { annotations })));
    await run('wait pod/left pod/right --for=condition=Ready --timeout=60s');
    const right = await shell(cluster, 'right', "ip -4 -o addr show net1 | awk '{print $4}'");
    expect(right).toMatch(/^192\.168\.\d+\.\d+\/16\n$/);
    const [address] = right.split('/');
    const pinged = await shell(cluster, 'left', `ping -c 1 -W 5 -I net1 ${address}`);
    expect(pinged).toContain(' 0% packet loss');
  });

  test('removes what it made of a Network with it, once no pod uses it', async () => {
    await run('delete pod left right --now');
    await run('delete network example-network --timeout=60s');
    await run('wait net-attach-def/example-network --for=delete --timeout=60s');
  });

  // As docs/operations.md has it.
  test('changes its log level for who comes by kubectl port-forward, and for nobody else', async () => {
    const { kubectl: program } = await ensureBinaries(process.env, process.stderr);
    const args = ['port-forward', '--namespace=envoy-initializer', 'deployment/envoy-initializer', ':8080'];
    const forwarding = spawn(program, args, { env: { KUBECONFIG: cluster.kubeconfigPath, HOME: '/' } });
    try {
      const [told] = await once(forwarding.stdout, 'data');
      const [, port] = /Forwarding from 127\.0\.0\.1:(\d+)/.exec(String(told)) ?? [];
      const page = `http://127.0.0.1:${port}/debug/log-level`;
      expect(await (await fetch(page)).text()).toBe('info\n');
      expect(await (await fetch(page, { method: 'PUT', body: 'debug' })).text()).toBe('debug\n');
    } finally {
      forwarding.kill();
    }
    const path = '-o jsonpath={.items[0].status.podIP}';
    const address = await run(`get pods --namespace envoy-initializer ${path}`);
    const put = 'PUT /debug/log-level HTTP/1.0\\r\\nContent-Length: 4\\r\\n\\r\\ninfo';
    expect(await shell(cluster, 'client', `printf '${put}' | nc ${address} 8080`)).toContain(
      'forbidden from other hosts: use kubectl port-forward',
    );
  });

  test('its image is the command line, too', async () => {
    const template = await readFile(join(examples, 'template.yaml'), 'utf8');
    const image = `--image=envoy-initializer:${VERSION} --image-pull-policy=Never`;
    const printed = await kubectl(
      cluster,
      `run lint ${image} --restart=Never --quiet --rm --stdin -- lint - -o json`,
      template,
    );
    expect(JSON.parse(printed)).toEqual([expect.objectContaining({ file: '<stdin>', severity: 'warning' })]);
  });
});
