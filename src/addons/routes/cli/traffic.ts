import { InvalidArgumentError } from 'commander';
import type { CommandContext, SetUpCommand } from '../../../cli/add-on.ts';
import { getTarget, isName, parseTarget, podsOf } from '../../../cli/check/check-target.ts';
import { type Cluster, withCluster } from '../../../cli/cluster.ts';
import {
  type Columns,
  type OutputFormat,
  outputOption,
  printOutput,
  tableOf,
} from '../../../cli/io/output.ts';
import type { ExitCode } from '../../../cli/io/terminal.ts';
import {
  addClusterOptions,
  addScopeOptions,
  type ClusterOptions,
  type Scope,
  type ScopeOptions,
  scopeOf,
} from '../../../cli/options/tool-options.ts';
import { livePods } from '../../../cli/survey.ts';
import { METRICS_PATH, METRICS_PORT } from '../../../injection/envoy/files.ts';
import { keysFor } from '../../../injection/keys.ts';
import { parseStatus } from '../../../injection/status.ts';
import { PODS } from '../../../kube/api/core-resources.ts';
import { type KubeObject, keyOf } from '../../../kube/api/object.ts';
import { toError, UsageError } from '../../../kube/util/errors.ts';
import { sleep, withTimeout } from '../../../kube/util/waits.ts';
import { systemClock } from '../../../kube/workqueue/clock.ts';
import { isObject } from '../../../util/json.ts';
import { parentsIn } from '../compile/attach.ts';
import { routeKey } from '../compile/route.ts';
import { ROUTES_CONFIG_MAP } from '../delivery/resources.ts';
import { liveRoutes } from './check-routes.ts';
import { type Reading, readPage, rowsOf, since, type TrafficRow } from './traffic-numbers.ts';

interface TrafficOptions extends ClusterOptions, ScopeOptions {
  readonly watch?: number | true;
  readonly output: OutputFormat;
}

const SECONDS = 5;
/** Limit for one page. */
const PAGE_MS = 3_000;
/** Sidecars that are asked at a time. */
const AT_ONCE = 20;

const milliseconds = (value: number) =>
  value === Number.POSITIVE_INFINITY ? '>10s' : `${value < 10 ? value.toFixed(1) : Math.round(value)}ms`;
const COLUMNS: Columns<TrafficRow> = {
  ROUTE: ({ route }) => route || '<none>',
  BACKEND: ({ backend }) => backend || '<none>',
  REQUESTS: ({ requests }) => `${requests}`,
  SUCCESS: ({ success }) => `${(Math.floor(success * 10_000 + 1e-6) / 100).toFixed(2)}%`,
  RPS: ({ rps }) => rps.toFixed(1),
  P50: ({ p50 }) => milliseconds(p50),
  P95: ({ p95 }) => milliseconds(p95),
  P99: ({ p99 }) => milliseconds(p99),
};

/** Shows what the sidecars of clients have counted, by rule and backend: since they started, or in each interval. */
export async function run(
  { terminal }: CommandContext,
  kind: string | undefined,
  name: string | undefined,
  options: TrafficOptions,
): Promise<ExitCode> {
  const target = name === undefined ? kind : `${kind}/${name}`;
  return await withCluster(options, async (cluster) => {
    let before = new Map<string, Reading>();
    for (;;) {
      const { pods, isShown } = await chosenBy(cluster, options, target);
      const { readings, silent } = await askAll(cluster, pods);
      const news = Array.from(readings, ([key, reading]) => since(reading, before.get(key) ?? NOTHING));
      const isFirst = options.watch !== undefined && before.size === 0;
      const rows = rowsOf(news).filter(isShown);
      if (!isFirst) {
        const value = { rows: rows.map((row) => ({ ...row })), silent };
        printOutput(terminal, options.output, value, tableOf(rows, COLUMNS));
        if (rows.length === 0)
          terminal.err(`no requests seen (${readings.size} of ${pods.length} sidecars answered)\n`);
      }
      for (const { pod, why } of silent) terminal.err(`no answer from pod ${pod}: ${why}\n`);
      if (options.watch === undefined) return silent.length > 0 ? 1 : 0;
      // One that gave no answer this time is compared with its last.
      before = new Map([...before, ...readings]);
      await sleep(systemClock, 1000 * (options.watch === true ? SECONDS : options.watch));
    }
  });
}

const NOTHING: Reading = { counts: new Map(), seconds: 0 };

/** Asks each sidecar for its page, by a connection as of `kubectl port-forward`. */
async function askAll({ transport, timeoutMs = PAGE_MS }: Cluster, pods: readonly KubeObject[]) {
  // Imported here, because the commands with files need no WebSocket.
  const { textFromPod } = await import('../../../kube/client/port-forward.ts');
  const readings = new Map<string, Reading>();
  const silent: { readonly pod: string; readonly why: string }[] = [];
  const left = [...pods];
  const worker = async () => {
    for (let pod = left.shift(); pod; pod = left.shift()) {
      const { name, namespace = '' } = pod.metadata;
      const read = (signal: AbortSignal) =>
        textFromPod(transport, { namespace, name }, { port: METRICS_PORT, path: METRICS_PATH }, signal);
      try {
        const what = `port-forward to pod ${name}`;
        const page = await withTimeout(systemClock, timeoutMs, undefined, read, what);
        readings.set(pod.metadata.uid ?? keyOf(pod), readPage(page));
      } catch (error) {
        silent.push({ pod: keyOf(pod), why: toError(error).message });
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return { readings, silent: silent.toSorted((a, b) => (a.pod < b.pod ? -1 : 1)) };
}

/** The pods whose sidecars are asked, and the rows that are shown. @throws UsageError for a target that is none. */
async function chosenBy(cluster: Cluster, options: TrafficOptions, target: string | undefined) {
  const { client } = cluster;
  const namespace = options.namespace ?? cluster.namespace;
  const { status } = keysFor(options.annotation);
  const isClient = ({ metadata }: KubeObject) =>
    parseStatus(metadata.annotations?.[status])?.added.volumes?.includes(ROUTES_CONFIG_MAP);
  const clients = async (scope: Scope) => {
    const pods: KubeObject[] = [];
    for await (const pod of livePods(client, scope)) if (isClient(pod)) pods.push(pod);
    return pods;
  };
  const scope = scopeOf(options, cluster.namespace);
  if (target === undefined) return { pods: await clients(scope), isShown: () => true };
  const [, kind = '', name = ''] = /^(svc|services?|httproutes?|grpcroutes?)\/([^/]+)$/i.exec(target) ?? [];
  if (kind !== '' && isName(name)) {
    // Clients of all namespaces follow the routes of a Service.
    return {
      pods: await clients({ labelSelector: scope.labelSelector }),
      isShown: await shownBy(client, kind.toLowerCase(), namespace, name),
    };
  }
  const parsed = parseTarget(target, ['service', 'httproute', 'grpcroute']);
  const object = await getTarget(client, namespace, parsed);
  const pods = parsed.workload.kind === 'Pod' ? [object] : await podsOf(client, namespace, object);
  const found = pods.filter(isObject).map(PODS.decode).filter(isClient);
  if (found.length === 0)
    throw new UsageError(`${target} has no sidecar that follows routes (docs/routing.md)`);
  return { pods: found, isShown: () => true };
}

/** The rows of a route, or those of the routes of a Service and of requests that it gets. */
async function shownBy(client: Cluster['client'], kind: string, namespace: string, name: string) {
  const key = `${namespace}/${name}`;
  if (!kind.startsWith('s')) {
    const named = kind.startsWith('g') ? `GRPCRoute ${key}` : key;
    return ({ route }: TrafficRow) => route.startsWith(`${named} `);
  }
  const keys = (await liveRoutes(client)).filter((route) => parentsIn(route).includes(key)).map(routeKey);
  return ({ route, backend }: TrafficRow) =>
    keys.some((each) => route.startsWith(`${each} `)) || backend.startsWith(`${key}:`);
}

function interval(value: string): number {
  if (!/^[1-9]\d{0,4}$/.test(value)) throw new InvalidArgumentError('Use a number of seconds such as 10.');
  return Number(value);
}

export const setUpCommand: SetUpCommand = (command) => {
  command
    .argument(
      '[target]',
      'a client such as pod/web-0 or deploy/web, or svc/NAME, httproute/NAME or grpcroute/NAME (default: all)',
    )
    .argument('[name]', 'its name, if the target is a kind');
  addScopeOptions(command, 'pods')
    .option('-w, --watch [seconds]', `show the requests of each interval (default: ${SECONDS} s)`, interval)
    .addOption(outputOption('table', 'json', 'yaml'));
  addClusterOptions(command);
};
