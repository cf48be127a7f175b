import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Cluster } from '../env/cluster/cluster.ts';
import { ALL_IMAGES } from '../env/cluster/images.ts';
import { linkImage } from '../env/cluster/registry/image-links.ts';
import { startCluster } from '../env/cluster/start-cluster.ts';
import { ensureBinaries } from '../env/control-plane/build.ts';
import { projectDirectory } from '../env/control-plane/project-directory.ts';
import { eventually } from '../env/eventually.ts';
import { KNOWN, RUNS, type Run } from './known.ts';
import { ensureSuite, type Suite } from './suite.ts';
import { faultsOf, figures, type Result, readReport } from './verdict.ts';

// Runs tests of Kubernetes' own e2e on a node of our own: plain, then with a sidecar in every pod. Arguments: the runs, by
// default all. Results are kept in out/judge, so that a run is compared with a plain one of before.

const { FOCUS, SKIP, PROCS = '8', MINUTES = '11' } = process.env;
/** What applications notice of a sidecar: their pods, workloads, traffic and volumes. */
const KINDS = [
  'apps\\] (Deployment|ReplicaSet|ReplicationController|Job|StatefulSet|DisruptionController)',
  'node\\] (Pods|Probing|Container Lifecycle Hook|InitContainer|PreStop|Container Runtime|Containers|Downward|Variable|Kubelet)',
  'network\\] (Services|Networking|DNS|Proxy)',
  'storage\\] (ConfigMap|Projected|EmptyDir)',
];
/** Variations of what another one tests, what has no pods, and what waits for minutes. */
const VARIATIONS = [
  '\\[(Serial|Slow|Disruptive)\\]|[Ss]tatus endpoints|status is not updated|private image|read only|issue 500|not\\* be restarted',
  'storage.*(Secret|secret|[dD]ownward|non-root|0666|0777|tmpfs|[mM]ode|mappings|multiple|optional|immutable)',
  'Networking.*udp|change the type from (ExternalName|NodePort)|configurable pod|Downward API should provide (pod|default)',
];
const focus = FOCUS || `\\[sig-(${KINDS.join('|')})`;
const skip = (run: Run) => SKIP || [...VARIATIONS, ...KNOWN[run].map(([tests]) => tests)].join('|');
const directory = join(projectDirectory(), 'out/judge');
const say = (text: string) => process.stderr.write(`${text}\n`);

async function kubectl(cluster: Cluster, args: string, input = ''): Promise<string> {
  const { code, stdout, stderr } = await cluster.kubectl(args.split(' '), { input });
  if (code !== 0) throw new Error(`kubectl ${args}: ${stderr}`);
  return stdout;
}

/** Installs the overlay all-pods, with one of our templates for every pod. Its requests are small: a node of two CPUs holds all. */
async function installed(cluster: Cluster, run: 'default' | 'transparent'): Promise<void> {
  const deploy = join(projectDirectory(), 'deploy');
  await kubectl(cluster, `apply -k ${deploy}/overlays/all-pods`);
  await kubectl(cluster, 'rollout status deployment/envoy-initializer -n envoy-initializer --timeout=120s');
  await kubectl(cluster, 'wait configmap/envoy-initializer -n envoy-initializer --for=create --timeout=60s');
  const file = run === 'default' ? 'default-template.yaml' : 'transparent/template.yaml';
  const template = (await readFile(join(deploy, file), 'utf8')).replace(/(requests:\n *cpu: )100m/, '$11m');
  const patch = JSON.stringify({ data: { config: template } });
  await kubectl(
    cluster,
    `patch configmap envoy-initializer -n envoy-initializer -p ${patch.replaceAll(' ', '\\u0020')}`,
  );
  await eventually(`pods get the template ${run}`, async () => {
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'probe', namespace: 'default' } };
    const spec = { containers: [{ name: 'app', image: 'busybox' }] };
    const created = await kubectl(
      cluster,
      'create --dry-run=server -o json -f -',
      JSON.stringify({ ...pod, spec }),
    );
    return created.includes('"cpu": "1m"') && created.includes('capture.sh') === (run === 'transparent');
  });
}

/** Whether each pod that there is from now on has been injected, until it is stopped. */
function watchPods(program: string, kubeconfig: string) {
  const pods = new Map<string, boolean>();
  const columns =
    'N:.metadata.namespace,P:.metadata.name,S:.metadata.annotations.initializer\\.kubernetes\\.io/envoy-status';
  const args = ['get', 'pods', '-A', '--watch', '--no-headers', '-o', `custom-columns=${columns}`];
  const child = spawn(program, [`--kubeconfig=${kubeconfig}`, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  createInterface(child.stdout).on('line', (line) => {
    const [namespace, name, status] = line.split(/\s+/);
    pods.set(`${namespace}/${name}`, status !== '<none>');
  });
  return { pods, stop: () => child.kill() };
}

async function judge(run: Run, cluster: Cluster, { tests, ginkgo }: Suite): Promise<readonly Result[]> {
  const at = join(directory, run);
  await rm(at, { recursive: true, force: true });
  await mkdir(at, { recursive: true });
  // ginkgo runs a program of this name only.
  const program = join(at, 'e2e.test');
  await symlink(tests, program);
  const { kubectl: client } = await ensureBinaries(
    { ...process.env, KUBEBUILDER_ASSETS: '' },
    process.stderr,
  );
  const watch = watchPods(client, cluster.kubeconfigPath);
  const log = createWriteStream(join(at, 'log'));
  await once(log, 'open');
  const child = spawn(
    ginkgo,
    [
      ...[
        `--procs=${PROCS}`,
        `--timeout=${MINUTES}m`,
        '--flake-attempts=2',
        '--no-color',
        '--label-filter=Conformance',
      ],
      ...[`--focus=${focus}`, `--skip=${skip(run)}`, `--output-dir=${at}`, '--json-report=report.json'],
      ...[
        program,
        '--',
        `--kubeconfig=${cluster.kubeconfigPath}`,
        `--kubectl-path=${client}`,
        '--dump-logs-on-failure=false',
      ],
    ],
    { stdio: ['ignore', log, log], env: { ...process.env, PATH: `${dirname(client)}:${process.env.PATH}` } },
  );
  await once(child, 'exit');
  watch.stop();
  const results = readReport(await readFile(join(at, 'report.json'), 'utf8'), watch.pods);
  await writeFile(join(at, 'results.json'), JSON.stringify(results, null, 1));
  return results;
}

async function before(run: Run): Promise<readonly Result[]> {
  return JSON.parse(await readFile(join(directory, run, 'results.json'), 'utf8')) as readonly Result[];
}

function tell(run: Run, plain: readonly Result[], results: readonly Result[]): void {
  say(figures(run, results));
  for (const { state, name, message } of results)
    if (state !== 'passed') say(`  ${state}: ${name}\n    ${message.split('\n')[0]}`);
  for (const [tests, why] of KNOWN[run]) say(`  not run: ${tests}: ${why}`);
  const faults = run === 'plain' ? [] : faultsOf(plain, results);
  for (const { name, injected, pods } of faults)
    say(`  FAULT, passes plain: ${name} (${injected} of ${pods} pods injected)`);
  if (faults.length > 0) process.exitCode = 1;
}

const asked = process.argv.slice(2);
const runs = RUNS.filter((run) => asked.length === 0 || asked.includes(run));
const suite = await ensureSuite(process.stderr);
const cluster = await startCluster({ images: ALL_IMAGES, log: say });
try {
  for (const [name, layout] of suite.images) await linkImage(cluster.images, name, layout);
  for (const run of runs) {
    if (run !== 'plain') await installed(cluster, run);
    const results = await judge(run, cluster, suite);
    tell(run, await before('plain'), results);
  }
} finally {
  await cluster.stop();
}
