import { readdir } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { bridgeName } from '../../src/networks/multus/cni-config.ts';
import { eventually } from '../env/eventually.ts';
import { type Kind, startKind } from '../env/kind/kind.ts';
import { apply, kubectl, podOf, shell } from '../support/cluster/cluster-kubectl.ts';
import { installed } from '../support/cluster/kind-installed.ts';
import { NODE_NAMES, onTwoNodes } from '../support/cluster/kind-two-nodes.ts';
import { withoutMultus } from '../support/cluster/kind-without-multus.ts';
import { addTransparent, kindWorkloads } from '../support/cluster/kind-workloads.ts';
import { machineSettings } from '../support/cluster/machine-settings.ts';
import { describeWithNode } from '../support/jest/describe-with-cluster.ts';
import { follow, textOf } from '../support/jest/follow.ts';
import { commandsOf, section } from '../support/jest/markdown.ts';

/** A first run builds kind, a node image, Multus, Envoy's image and our own. */
const PREPARATION_MS = 60 * 60_000;
const NODES = Number(process.env.KIND_NODES ?? 2);
/** Of one test: a busy machine takes minutes to create a cluster. */
jest.setTimeout(600_000);

/** What the overlay kind has that gets ready. */
const WORKLOADS = [
  'deployment/envoy-initializer --namespace envoy-initializer',
  'daemonset/envoy-initializer-node-agent --namespace envoy-initializer-node-agent',
  'daemonset/kube-multus-ds --namespace kube-system',
  'deployment/coredns --namespace kube-system',
];
const OPTED_IN = '{"initializer.kubernetes.io/envoy":"true"}';
/** A pod that selects this template, which is not created. */
const SELECTING =
  'kubectl run selects --image=busybox --labels=initializer.kubernetes.io/envoy=true --annotations=initializer.kubernetes.io/envoy-templates=transparent --dry-run=server -o yaml';

let before: string;
let kind: Kind;
const run = (args: string | readonly string[], input?: string) => kubectl(kind, args, input);
const typed = (path: string, heading: string) => follow(kind, path, heading);
const printed = (path: string, heading: string) => commandsOf(section(textOf(path), heading));

describeWithNode(`kind (KIND_NODES=${NODES})`, () => {
  beforeAll(async () => {
    before = await machineSettings();
    kind = await startKind({ nodes: NODES, networks: true });
  }, PREPARATION_MS);

  afterAll(() => kind?.stop(), 300_000);

  // Jest tells of a suite at its end, which one that takes too long does not see.
  beforeEach(() => void process.stderr.write(`… ${expect.getState().currentTestName}\n`));

  test('the demo plays on kind where there is no Go, by README.md # Try it', async () => {
    await kind.save('no-go/go', '#!/bin/sh\nexit 127\n');
    const nothingBuilt = 'chmod +x no-go/go; PATH=$PWD/no-go:$PATH XDG_CACHE_HOME=$PWD/no-go';
    const { stdout, code } = await kind.type(`${nothingBuilt} node hack/run.ts --once`);
    expect(`${stdout}${code}`).toMatch(/myapp-container envoy\n[\s\S]*example-network .* True [\s\S]*\n0$/);
    expect((await kind.type('kind get clusters')).stdout.trim()).toBe('No kind clusters found.');
  });

  test('the operator is installed on kind by README.md # Install, as docs/install.md # With kind says', async () => {
    expect(printed('docs/install.md', '## With kind')).toEqual(printed('README.md', '## Install'));
    await typed('README.md', '## Install');
    for (const workload of WORKLOADS) await run(`rollout status ${workload} --timeout=300s`);
  });

  test('a sidecar and a Network come up on kind by README.md # What happens', async () => {
    await typed('README.md', '## What happens');
    await run('wait pod/myapp-pod --for=condition=Ready --timeout=300s');
    expect(await run('logs myapp-pod --container=myapp-container')).toContain('Hello Kubernetes!');
  });

  test('status and check find no problem on kind', async () => {
    let seen = { code: null as number | null, stdout: '' };
    await eventually('status has no problem', async () => {
      seen = await kind.type('envoy-initializer status');
      return seen.code === 0;
    }).catch(() => {});
    // With what it prints.
    expect(seen).toMatchObject({ code: 0, stdout: expect.not.stringMatching(/ (problem|unknown) /) });
    for (const target of ['pod/myapp-pod', 'network/example-network']) {
      expect((await kind.type(`envoy-initializer check ${target}`)).stdout).toContain('no problems found');
    }
  });

  const example = (name: string) => run(`apply -f ${kind.workbench.directory}/deploy/examples/${name}.yaml`);

  test('pods on kind reach each other and the gateway, and get no interface that they do not ask for', async () => {
    await example('network-ping');
    await apply(kind, podOf('plain'));
    await run('wait pod/ping pod/pong pod/plain --for=condition=Ready --timeout=300s');
    await eventually(
      'both are reached',
      async () => (await run('logs ping')).split(' 0% packet loss').length === 3,
    );
    expect(await run('events --for pod/ping')).toMatch(/NetworkReady .*\(default\/ping\)/);
    expect(await shell(kind, 'plain', 'ls /sys/class/net')).toBe('eth0\nlo\n');
  });

  test('a Network on kind counts its pods and their addresses', async () => {
    const counted = 'jsonpath={.status.attachedPods}/{.status.capacity.allocated}/{.status.capacity.total}';
    await eventually(
      'two pods with an address each are counted',
      async () => (await run(`get network ping -o ${counted}`)) === '2/2/253',
    );
  });

  test('a pod on kind has both by deploy/examples/network-and-sidecar.yaml', async () => {
    await example('network-and-sidecar');
    await run('rollout status deployment/network-and-sidecar --timeout=300s');
    const containers = 'jsonpath={.items[*].spec.containers[*].name}';
    expect(await run(['get', 'pods', '--selector=app=network-and-sidecar', '-o', containers])).toBe(
      'app envoy app envoy',
    );
    const addresses = 'exec deployment/network-and-sidecar -c app -- ip -4 -o address show net1';
    expect(await run(addresses)).toMatch(/192\.168\.\d+\.\d+\/16/);
    await run('delete deployment network-and-sidecar');
  });

  test('a deleted Network on kind waits for its pods, and then leaves nothing on a node', async () => {
    // In the names of the bridge, of the tunnel and of files.
    const hash = bridgeName('default/ping').slice(3);
    const traces = async () => {
      const found = 'ip -o link; nft list ruleset; find /run/envoy-initializer /var/lib/cni';
      const all = await Promise.all(NODE_NAMES.slice(0, NODES).map((node) => kind.onNode(node, found)));
      return all.join().split(hash).length - 1;
    };
    expect(await traces()).toBeGreaterThan(2);
    await run('delete network ping --wait=false --cascade=foreground');
    const progressing = '.status.conditions[?(@.type=="Progressing")]';
    await run(`wait network/ping --for=jsonpath={${progressing}.reason}=Deleting --timeout=60s`);
    expect(await run(`get network ping -o jsonpath={${progressing}.message}`)).toBe(
      'waiting for pods that use it: default/ping, default/pong',
    );
    expect(await shell(kind, 'ping', 'ping -c 1 -W 5 -I net1 10.20.0.10')).toContain(' 0% packet loss');
    await run('delete pod --all --now');
    await run('wait network/ping net-attach-def/ping --for=delete --timeout=60s');
    await eventually('nothing of it is left', async () => (await traces()) === 0);
    await run('delete network --all');
  });

  describe('docs/', () => {
    // A section that fails leaves what it made.
    afterEach(async () => {
      await kind.type('kubectl config set-context --current --namespace=default');
      await kind.type('kubectl delete deployments,pods,httproutes,networks --all --now');
    });

    test('docs/networks.md # Walkthrough works on kind', () => typed('docs/networks.md', '## Walkthrough'));

    test('canary-without-capture works on kind', () =>
      typed('deploy/examples/canary-without-capture/README.md', '# Canary without capture'));

    test('docs/envoy.md # All connections of a pod works on kind', async () => {
      await run('create namespace hello');
      await run('config set-context --current --namespace=hello');
      await apply(kind, ...kindWorkloads.hello);
      await run('wait pod/client --for=condition=Ready --timeout=60s');
      // Whoever types has given the operator the time to prove the template.
      await kind.type(addTransparent('deploy/transparent'));
      for (let known = 0; known < 5; known++) {
        await eventually('each replica has the template', async () => {
          const { stdout } = await kind.type(`${SELECTING} | grep -c envoy-capture || :`);
          if (stdout.trim() === '0') known = 0;
          return stdout.trim() !== '0';
        });
      }
      await typed('docs/envoy.md', '## All connections of a pod');
      await run('delete namespace hello');
    });

    test('docs/routing.md # Set up, # Canary and # Check a route work on kind', async () => {
      await typed('docs/routing.md', '## Set up');
      await kind.save('web.yaml', kindWorkloads.web('web-v3'));
      await apply(kind, ...kindWorkloads.services);
      await typed('docs/routing.md', '## Canary');
      await kind.save('web.yaml', kindWorkloads.web('web-v1'));
      await kind.type('kubectl apply -f web.yaml');
      await typed('docs/routing.md', '## Check a route');
    });

    test('docs/troubleshooting.md # Troubleshooting, by message works on kind', async () => {
      await kind.type('kubectl create deployment web --image=busybox -- sleep infinity');
      await kind.type(
        `kubectl patch deployment web --patch '{"spec":{"template":{"metadata":{"labels":${OPTED_IN}}}}}'`,
      );
      await run('rollout status deployment/web --timeout=120s');
      await typed('docs/troubleshooting.md', '# Troubleshooting, by message');
    });

    test('docs/install.md # Further templates works on kind', async () => {
      await run('create namespace shop');
      await typed('docs/install.md', '### Further templates');
    });

    test('docs/install.md # The image works on kind', () => typed('docs/install.md', '## The image'));
  });

  if (NODES === 2) {
    onTwoNodes(() => kind);
    describe('without Multus', () => withoutMultus(() => kind));
  }

  test('the operator is removed from kind by docs/install.md # Uninstall', async () => {
    await kind.type('kubectl apply -f deploy/examples/helloworld.yaml');
    await run('delete network --all --all-namespaces');
    await typed('docs/install.md', '## Uninstall');
    expect(await run('get namespaces --output name')).not.toContain('envoy-initializer');
    for (const node of NODE_NAMES.slice(0, NODES)) {
      const left = await kind.onNode(node, 'ip -o link; nft list tables 2>/dev/null || :');
      expect(left).not.toMatch(/ nw-| nx-|envoy-initializer/);
    }
  });

  if (NODES === 2) installed(() => kind);

  test('kind leaves the machine as it was', async () => {
    const { directory } = kind.workbench;
    await kind.stop();
    expect(await machineSettings()).toBe(before);
    await expect(readdir(directory)).rejects.toThrow('ENOENT');
  });
});
