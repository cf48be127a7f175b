import { type Command, Option } from 'commander';
import { classify, type DriftBasis, isMissed, skipReason } from '../drift/classify.ts';
import { isObject } from '../json/json.ts';
import { PROGRAM } from '../json/own-names.ts';
import { LIVE_PODS, NAMESPACES, PODS } from '../kube/api/core-resources.ts';
import type { KubeObject } from '../kube/api/object.ts';
import type { KubeClient } from '../kube/client/client.ts';
import { UsageError } from '../kube/util/usage-error.ts';
import { WORKLOAD_KINDS } from '../podspec/workload-kinds.ts';
import { keysFor } from '../sidecar/keys.ts';
import { namespaceSettings } from '../sidecar/namespace-settings.ts';
import { parseTarget, type Target } from './check/check-target.ts';
import { EnvoyConfigurations } from './check/envoy-configuration.ts';
import { type Cluster, withCluster } from './cluster.ts';
import { followInstallation, installationOf } from './installation.ts';
import { type OutputFormat, outputOption, printOutput } from './output.ts';
import { serveOption } from './serve-options.ts';
import { templatesOfCluster } from './template-source.ts';
import type { ExitCode, Terminal } from './terminal.ts';
import { addClusterOptions, type ClusterOptions, namespaceOption } from './tool-options.ts';

export interface DriftOptions extends ClusterOptions {
  readonly namespace?: string;
  readonly allNamespaces?: boolean;
  readonly requireAnnotation: boolean;
  readonly restart?: string;
  readonly output: OutputFormat;
}

/** A pod with a missing or stale sidecar, or one that runs an older configuration of Envoy. */
interface DriftedPod {
  readonly namespace: string;
  readonly name: string;
  readonly sidecar: 'missed' | 'stale' | 'old-configuration';
  /** The controller that would recreate the pod, such as `ReplicaSet/web-5d8`; empty for a standalone pod. */
  readonly controller: string;
}

/** The pods of a namespace, or of all. */
interface Survey {
  readonly drifted: readonly DriftedPod[];
  /** All pods that have not ended. */
  readonly count: number;
  /** How many asked for a sidecar that the operator does not give them, by reason. */
  readonly skipped: ReadonlyMap<string, number>;
}

/** Pods in one page of a list. */
const PAGE = 500;

export function addDriftOptions(command: Command): Command {
  command
    .addOption(namespaceOption("namespace to check (default: the kubeconfig's)"))
    .option('-A, --all-namespaces', 'check all namespaces')
    .addOption(
      new Option(
        '--restart <workload>',
        'recreate the pods of this workload, as kubectl rollout restart does',
      ).conflicts(['allNamespaces', 'output']),
    )
    .addOption(serveOption('require-annotation'))
    .addOption(outputOption());
  return addClusterOptions(command);
}

/** Lists the pods with a missing or stale sidecar, or restarts a workload. */
export async function driftCommand(options: DriftOptions, terminal: Terminal): Promise<ExitCode> {
  if (options.namespace !== undefined && options.allNamespaces) {
    throw new UsageError('--namespace and --all-namespaces cannot be used together: use one of them');
  }
  const target = options.restart === undefined ? undefined : restartable(options.restart);
  return await withCluster(options, async (cluster) => {
    const namespace = options.namespace ?? cluster.namespace;
    if (target) {
      terminal.out(`${await restart(cluster.client, namespace, target)}\n`);
      return 0;
    }
    const survey = await driftedPods(cluster, options, options.allNamespaces ? undefined : namespace);
    const { drifted } = survey;
    printOutput(terminal, options.output, {
      value: drifted.map((pod) => ({ ...pod })),
      lines: drifted.map(lineOf),
    });
    if (options.output === 'text' && drifted.length === 0) terminal.err(`${summaryOf(survey)}\n`);
    return drifted.length > 0 ? 1 : 0;
  });
}

const WHAT: Readonly<Record<DriftedPod['sidecar'], string>> = {
  missed: 'has no sidecar',
  stale: 'has a stale sidecar',
  'old-configuration': 'runs an older configuration of Envoy than the ConfigMap envoy',
};

function lineOf({ namespace, name, sidecar, controller }: DriftedPod): string {
  const what = WHAT[sidecar];
  return `${namespace}/${name} ${what} (${controller === '' ? 'standalone pod: recreate it yourself' : controller})`;
}

async function driftedPods(
  cluster: Cluster,
  given: DriftOptions,
  namespace: string | undefined,
): Promise<Survey> {
  const installation = await installationOf(cluster.client, given.operatorNamespace);
  const options = followInstallation(given, installation);
  const { annotation, requireAnnotation, operatorNamespace } = options;
  const basis: DriftBasis = {
    options: { keys: keysFor(annotation), requireAnnotation, operatorNamespace },
    state: { set: await templatesOfCluster(cluster, options) },
  };
  const namespaces = await namespacesByName(cluster.client, namespace);
  const configurations = new EnvoyConfigurations(cluster.client, basis.options.keys);
  const drifted: DriftedPod[] = [];
  const skipped = new Map<string, number>();
  let count = 0;
  for await (const pod of pages(cluster.client, namespace)) {
    if (pod.metadata.deletionTimestamp !== undefined) continue;
    count += 1;
    const metadata = namespaces.get(pod.metadata.namespace ?? '') ?? {};
    const settings = namespaceSettings(metadata, basis.options.keys);
    const found = classify(pod, settings, basis);
    const missed = found === 'maybe-missed' && isMissed(pod, settings, basis);
    if (missed || found === 'stale') drifted.push(toDrifted(pod, missed ? 'missed' : 'stale'));
    else if (isObject(pod) && (await configurations.isOlderIn(pod, pod.metadata.namespace ?? ''))) {
      drifted.push(toDrifted(pod, 'old-configuration'));
    } else if (found !== 'current') {
      const reason = skipReason(pod, settings, basis);
      if (reason !== undefined) skipped.set(reason, (skipped.get(reason) ?? 0) + 1);
    }
  }
  return { drifted, count, skipped };
}

/** All pods that run, such as `no drift in 12 pods; 2 pods asked for a sidecar and got none (conflict: 1, windows: 1)`. */
function summaryOf({ count, skipped }: Survey): string {
  const pods = (n: number) => (n === 1 ? '1 pod' : `${n} pods`);
  const reasons = Array.from(skipped, ([reason, n]) => `${reason}: ${n}`).join(', ');
  const asked = [...skipped.values()].reduce((sum, n) => sum + n, 0);
  const rest = asked > 0 ? `; ${pods(asked)} asked for a sidecar and got none (${reasons})` : '';
  return `no drift in ${pods(count)}${rest}`;
}

function toDrifted({ metadata }: KubeObject, sidecar: DriftedPod['sidecar']): DriftedPod {
  const { namespace = '', name, ownerReferences } = metadata;
  const owner = ownerReferences?.find(({ controller }) => controller);
  return { namespace, name, sidecar, controller: owner ? `${owner.kind}/${owner.name}` : '' };
}

export async function namespacesByName(client: KubeClient, namespace: string | undefined) {
  const namespaces =
    namespace === undefined
      ? (await client.list(NAMESPACES, {})).items.map((item) => NAMESPACES.decode(item))
      : [await client.get(NAMESPACES, { name: namespace })];
  return new Map(namespaces.map(({ metadata }) => [metadata.name, metadata]));
}

export async function* pages(
  client: KubeClient,
  namespace: string | undefined,
): AsyncGenerator<KubeObject, void> {
  let next: string | undefined;
  do {
    const page = await client.list(PODS, {
      namespace,
      fieldSelector: LIVE_PODS,
      limit: PAGE,
      continue: next,
    });
    for (const item of page.items) yield PODS.decode(item);
    next = page.continue;
  } while (next);
}

/** The annotation that kubectl rollout restart writes. */
const RESTARTED_AT = 'kubectl.kubernetes.io/restartedAt';

/** @throws UsageError if the kind does not recreate its pods after a change of their template. */
function restartable(text: string): Target {
  const target = parseTarget(text);
  if (!target.workload.isRolling) {
    const kinds = WORKLOAD_KINDS.flatMap(({ kind, isRolling }) => (isRolling ? [kind] : [])).join(', ');
    throw new UsageError(`cannot restart a ${target.resource.kind}: use one of ${kinds}, or delete the pods`);
  }
  return target;
}

/** Restarts a workload with its own update strategy, and returns a line that says so. */
async function restart(client: KubeClient, namespace: string, { resource, name }: Target): Promise<string> {
  const annotations = { [RESTARTED_AT]: new Date().toISOString() };
  const patch = { spec: { template: { metadata: { annotations } } } };
  await client.mergePatch(resource, { namespace, name }, patch, { fieldManager: PROGRAM });
  return `${resource.kind.toLowerCase()}.${resource.group}/${name} restarted`;
}
