import { cp, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { build } from 'esbuild';
import { findTool } from '../../../hack/release/tools.ts';
import { DEFAULT_TEMPLATE_YAML } from '../../../src/injection/webhook/default-template.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { eventually } from '../../env/eventually.ts';
import type { Kind } from '../../env/kind/kind.ts';
import { follow, textOf } from '../jest/follow.ts';
import { commandsOf, section } from '../jest/markdown.ts';
import { EARLIER, earlierVersion, obstacleTo } from '../operator/earlier-version.ts';
import { FOR_THE_WEBHOOK, OPTED_IN } from './admission-load.ts';
import { apply, kubectl, podOf } from './cluster-kubectl.ts';
import { KindTraffic } from './kind-traffic.ts';
import { addTransparent, PATIENCE } from './kind-workloads.ts';
import { OPERATOR } from './operator-in-cluster.ts';
import { deployment, serving } from './traffic-workloads.ts';

const NETWORK = {
  apiVersion: 'samplecrd.k8s.io/v1',
  kind: 'Network',
  metadata: { name: 'kept' },
  spec: { cidr: '10.22.0.0/24', gateway: '10.22.0.1' },
};
/** As in docs/install.md. Its other name, of `kind load`, would do no more: a kubelet pulls all names of an image that it has pulled by one. */
const PUSHED = 'registry.example.com/envoy-initializer:0.0.1';
const DEPLOYMENT = `deployment/${OPERATOR} --namespace ${OPERATOR}`;

const helm = await findTool('helm', process.env);
const withoutHelm = helm === undefined ? 'no helm: make test-artifacts builds it' : await obstacleTo(EARLIER);

/** The tests of ways to install the operator, on a cluster that has it no more and is left so. */
export function installed(kindOf: () => Kind): void {
  const run = (args: string | readonly string[]) => kubectl(kindOf(), args);
  const typed = (path: string, heading: string) => follow(kindOf(), path, heading);
  const succeed = async (command: string) => {
    const { code, stdout } = await kindOf().type(command);
    if (code !== 0) throw new Error(`${command} ended with code ${code}: ${stdout}`);
    return stdout;
  };
  const isReady = () => run(`rollout status ${DEPLOYMENT} --timeout=300s`);

  test('the operator is deployed from a registry by docs/install.md # In your cluster', async () => {
    await typed('docs/install.md', '## In your cluster');
    await isReady();
    const image = await run(`get ${DEPLOYMENT} -o jsonpath={..containers[*].image}`);
    expect(image).toBe(PUSHED);
  });

  test('the log on kind has more by docs/operations.md # Logs', async () => {
    await typed('docs/operations.md', '## Logs');
    await isReady();
    await eventually('what is said in detail', async () =>
      (await run(`logs ${DEPLOYMENT}`)).includes('"level":"debug"'),
    );
  });

  test('a new Envoy is rolled out by docs/rollout.md # Roll out a new Envoy', async () => {
    await succeed(`make deploy OVERLAY=rollout IMAGE=${PUSHED}`);
    await isReady();
    const fleet = (name: string, replicas: number) =>
      deployment(name, {}, { containers: [serving(name, [8080])] }, replicas);
    await apply(kindOf(), fleet('web', 3), fleet('alone', 1));
    for (const name of ['web', 'alone']) await run(`rollout status deployment/${name} --timeout=300s`);
    const rollout =
      /^rollout: \|\n(?<lines>[\s\S]*?)^```$/m.exec(textOf('docs/rollout.md'))?.groups?.lines ?? '';
    const strategy = rollout.replaceAll(/^ {2}/gm, '').replace('hold: 10m', 'hold: 1s');
    expect(strategy).toContain('mode: in-place');
    const manifest = (config: string) =>
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: OPERATOR, namespace: OPERATOR, labels: { app: OPERATOR } },
        data: { config, rollout: strategy },
      });
    await kindOf().save('template.yaml', manifest(DEFAULT_TEMPLATE_YAML));
    await succeed('kubectl apply -f template.yaml');
    // The same Envoy under another name.
    const next = DEFAULT_TEMPLATE_YAML.replace(
      /envoyproxy\/envoy:\S+/,
      'lyft/envoy:845747db88f102c0fd262ab234308e9e22f693a1',
    );
    await kindOf().save('template.yaml', manifest(next));
    const commands = commandsOf(section(textOf('docs/rollout.md'), '## Roll out a new Envoy'));
    const [preview, changed, watched, paused, resumed] = commands;
    await eventually('the preview counts the pods', async () =>
      (await succeed(preview?.command ?? '')).includes(preview?.output[0] ?? '?'),
    );
    await succeed(changed?.command ?? '');
    await succeed(paused?.command ?? '');
    await succeed(resumed?.command ?? '');
    expect(await succeed(watched?.command ?? '')).toMatch(/^phase +/m);
    await eventually(
      'the pods have the new image',
      async () => {
        const images = await run([
          ...'get pods -o'.split(' '),
          'jsonpath={..containers[?(@.name=="envoy")].image}',
          '--selector=app in (web, alone)',
        ]);
        return images.split('lyft/envoy').length === 4;
      },
      PATIENCE,
    );
    await run('delete deployments --all --now');
  });

  test('make undeploy removes the operator from kind', async () => {
    await succeed('make undeploy');
    const kinds = 'namespaces,mutatingwebhookconfigurations,clusterroles';
    expect(await run(`get ${kinds} --output name`)).not.toContain(OPERATOR);
  });

  const upgrades =
    'Helm upgrades the earlier release’s chart without a lost request, rolls back, and removes it';
  const helmTest = withoutHelm === undefined ? test : test.skip;
  helmTest(withoutHelm === undefined ? upgrades : `${upgrades} (skipped: ${withoutHelm})`, async () => {
    const { bin, directory } = kindOf().workbench;
    await symlink(helm ?? '', join(bin, 'helm'));
    const earlier = await earlierVersion(EARLIER);
    await cp(join(earlier.deploy, 'helm'), join(directory, 'earlier/chart'), { recursive: true });
    await cp(join(earlier.deploy, 'transparent'), join(directory, 'earlier/transparent'), {
      recursive: true,
    });
    await build({
      ...{ entryPoints: [join(projectDirectory(), earlier.program)], bundle: true },
      ...{ outfile: join(directory, 'earlier/image/main.js'), platform: 'node', format: 'esm' },
      ...{ banner: { js: REQUIRE }, logLevel: 'error' },
    });
    await writeFile(join(directory, 'earlier/image/Dockerfile'), EARLIER_IMAGE);
    await succeed('docker build --tag envoy-initializer:earlier earlier/image');
    await succeed('kind load docker-image envoy-initializer:earlier');
    await succeed('make manifests');
    await succeed('make capture-image && kind load docker-image envoy-initializer-capture:0.0.1');

    const works = async (image: string) => {
      await isReady();
      expect(await run(`get ${DEPLOYMENT} -o jsonpath={..containers[*].image}`)).toBe(image);
      await run('wait network/kept --for=condition=Ready --timeout=120s');
      const metadata = { labels: OPTED_IN, annotations: FOR_THE_WEBHOOK };
      const pod = JSON.stringify(podOf('by-helm', {}, {}, metadata));
      const created = () => kubectl(kindOf(), 'create --dry-run=server -f - -o yaml', pod);
      // kube-proxy may take a second to know a replica that is Ready.
      await eventually('the webhook injects', async () =>
        (await created().catch(() => '')).includes('name: envoy\n'),
      );
    };
    const release = `${OPERATOR} --namespace ${OPERATOR}`;
    const values = '--set image=envoy-initializer:earlier --set components.networks=true';
    await succeed(`helm install ${release} earlier/chart --create-namespace ${values} --wait`);
    await apply(kindOf(), NETWORK);
    await works('envoy-initializer:earlier');
    await succeed(addTransparent('earlier/transparent'));
    const traffic = new KindTraffic(kindOf());
    await traffic.start();
    const uid = () => run('get network-attachment-definition kept -o jsonpath={.metadata.uid}');
    const before = await uid();
    const chart = 'out/helm/envoy-initializer';
    const upgrade = `upgrade ${release} ${chart} --reset-then-reuse-values --set image=${PUSHED}`;
    for (const [command, image] of [
      [upgrade, PUSHED],
      [`rollback ${release} 1`, 'envoy-initializer:earlier'],
      [`rollback ${release} 2`, PUSHED],
    ] as const) {
      await traffic.during(async () => {
        await succeed(`helm ${command} --wait`);
        await works(image);
      });
    }
    expect(await uid()).toBe(before);
    await traffic.stop();
    await run('delete network kept --timeout=60s');
    await succeed('envoy-initializer uninstall');
    await succeed(`helm uninstall ${release} --ignore-not-found`);
  });

  helmTest('installs the chart: install.md # With Helm', async () => {
    await typed('docs/install.md', '### With Helm');
    await isReady();
    await succeed('envoy-initializer uninstall');
    await succeed(`helm uninstall ${OPERATOR} --namespace ${OPERATOR} --ignore-not-found`);
    // Helm has made this namespace, and leaves it.
    const left = `get all,configmaps,secrets,leases --namespace ${OPERATOR} --output name`;
    expect(await run(left)).toBe('configmap/kube-root-ca.crt\n');
    expect(await run('get namespaces --output name')).not.toContain('node-agent');
  });
}

/** The program that the history has, in the image of now: with its packages, which are not beside it there. */
const EARLIER_IMAGE = 'FROM envoy-initializer:0.0.1\nCOPY main.js /app/dist/main.js\n';
/** Packages of CommonJS require Node's modules. */
const REQUIRE =
  "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";
