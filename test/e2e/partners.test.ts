import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { writeChart } from '../../hack/helm/chart.ts';
import { ensureTool } from '../../hack/release/tools.ts';
import { certManagerCrds, ensureCertManager, startCertManager } from '../env/cert-manager/cert-manager.ts';
import type { Cluster } from '../env/cluster/cluster.ts';
import { startCluster } from '../env/cluster/start-cluster.ts';
import { ensureBinaries } from '../env/control-plane/build.ts';
import { runCommand } from '../env/control-plane/run-command.ts';
import { type Supervisor, startSupervisor } from '../env/control-plane/supervisor.ts';
import { eventually } from '../env/eventually.ts';
import { FOR_THE_WEBHOOK } from '../support/cluster/admission-load.ts';
import { apply, kubectl, podOf } from '../support/cluster/cluster-kubectl.ts';
import { OPT_IN } from '../support/injection/demo.ts';
import { describeUnless } from '../support/jest/describe-unless.ts';
import { nodeObstacle } from '../support/jest/describe-with-cluster.ts';
import { objectNames } from '../support/operator/object-names.ts';
import { uninstalled } from '../support/operator/uninstall.ts';

/** A first run builds the node, our own image, Helm and cert-manager. */
const PREPARATION_MS = 60 * 60_000;
jest.setTimeout(400_000);

const RELEASE = ['envoy-initializer', '--namespace=envoy-initializer'];
const SECRET = 'secret envoy-initializer-webhook --namespace=envoy-initializer';

const obstacle = process.env.TEST_PARTNERS ? nodeObstacle : 'it builds cert-manager: make test-partners';

describeUnless(obstacle, 'Helm and cert-manager', () => {
  let cluster: Cluster;
  let supervisor: Supervisor;
  let home: string;
  let chart: string;
  let program: string;
  let before: readonly string[];
  const log: string[] = [];
  const run = (args: string) => kubectl(cluster, args);

  beforeAll(async () => {
    program = await ensureTool('helm', process.env, process.stderr);
    await ensureCertManager(process.env, process.stderr);
    cluster = await startCluster({ images: ['busybox', 'envoy-initializer'] });
    home = await mkdtemp(join(tmpdir(), 'partners-'));
    chart = join(home, 'envoy-initializer');
    await writeChart((await ensureBinaries(process.env, process.stderr)).kubectl, chart);
    supervisor = await startSupervisor();
    await kubectl(cluster, 'apply --server-side -f -', await certManagerCrds());
    before = await objectNames(cluster);
    await startCertManager(supervisor, cluster.kubeconfigPath, (line) => log.push(line));
  }, PREPARATION_MS);

  afterAll(async () => {
    await supervisor?.stop();
    await cluster?.stop();
    if (home) await rm(home, { recursive: true });
  });

  async function helm(...args: readonly string[]): Promise<void> {
    const env = { HOME: home, KUBECONFIG: cluster.kubeconfigPath };
    const { code, stderr } = await runCommand(program, args, env, '');
    if (code !== 0) throw new Error(`helm ${args.join(' ')}: ${stderr}\n${log.slice(-20).join('\n')}`);
  }

  /** The containers of a new pod that opts in. */
  async function injected(name: string): Promise<string> {
    await apply(cluster, podOf(name, {}, {}, { labels: { [OPT_IN]: 'true' }, annotations: FOR_THE_WEBHOOK }));
    return await run(`get pod ${name} -o jsonpath={.spec.containers[*].name}`);
  }

  const caBundles = () =>
    run(
      'get mutatingwebhookconfigurations,validatingwebhookconfigurations -o jsonpath={.items[*].webhooks[*].clientConfig.caBundle}',
    );

  test('Helm installs the operator with certificates of cert-manager', async () => {
    const flags = ['--create-namespace', '--set=components.certManager=true', '--wait', '--timeout=4m'];
    await helm('install', ...RELEASE, chart, ...flags);
    const authority = await run(`get ${SECRET} -o jsonpath={.data.ca\\.crt}`);
    expect(new Set((await caBundles()).split(' '))).toEqual(new Set([authority]));
    // kube-proxy may take a second to know a replica that is Ready.
    await eventually('the webhook injects', async () => {
      return (await injected('first').catch(() => '')) === 'main envoy';
    });
  });

  test("cert-manager renews the operator's certificate, while pods are admitted", async () => {
    const uid = () => run(`get ${SECRET} -o jsonpath={.metadata.uid} --ignore-not-found`);
    const first = await uid();
    await run(`delete ${SECRET}`);
    await eventually('there is another one', async () => ![first, ''].includes(await uid()));
    expect(await injected('renewed')).toBe('main envoy');
  });

  const upgrade = (...values: readonly string[]) =>
    helm('upgrade', ...RELEASE, chart, ...values.map((value) => `--set=${value}`), '--wait', '--timeout=4m');

  test('Helm upgrades the operator, and rolls it back', async () => {
    await upgrade('components.certManager=true', 'components.repair=true');
    expect(await injected('upgraded')).toBe('main envoy');
    await helm('rollback', ...RELEASE, '1', '--wait', '--timeout=4m');
    expect(await injected('rolled-back')).toBe('main envoy');
  });

  test('Helm changes to the operator’s own certificates, and back, while replicas run', async () => {
    await upgrade('components.certManager=false');
    expect(await injected('own')).toBe('main envoy');
    await upgrade('components.certManager=true');
    expect(await injected('again')).toBe('main envoy');
  });

  test('uninstall and helm uninstall leave nothing behind', async () => {
    await run('delete pods --all --now');
    expect(await uninstalled(cluster.kubeconfigPath)).toContain(
      'namespace envoy-initializer is kept, because it does not have the label app=envoy-initializer',
    );
    await helm('uninstall', ...RELEASE);
    await run('delete namespace envoy-initializer');
    expect((await objectNames(cluster)).filter((name) => !before.includes(name))).toEqual([]);
  });
});
