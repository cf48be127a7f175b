import type { CheckFinding, ObjectReport } from '../../../cli/check/check-report.ts';
import { lastWords } from '../../../cli/last-event.ts';
import { ROUTES_FILE } from '../../../injection/envoy/routed.ts';
import type { Keys } from '../../../injection/keys.ts';
import { parseStatus } from '../../../injection/status.ts';
import { ifFound, ifReadable } from '../../../kube/api/api-error.ts';
import { CONFIG_MAPS, PODS } from '../../../kube/api/core-resources.ts';
import { type KubeObject, keyOf } from '../../../kube/api/object.ts';
import type { Resource } from '../../../kube/api/resource.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import { UsageError } from '../../../kube/util/errors.ts';
import { formatDiagnostic } from '../../../util/diagnostic.ts';
import { type Compilation, compileRoutes } from '../compile/compile.ts';
import { entryName } from '../compile/envoy-route.ts';
import { type Comparison, explainRequest } from '../compile/explain.ts';
import { FAULT_REASONS } from '../compile/findings.ts';
import { leftOutText } from '../compile/left-out.ts';
import type { Entry } from '../compile/model.ts';
import type { RoutedPort } from '../compile/port-table.ts';
import type { Route, Service } from '../compile/route.ts';
import {
  GRPC_ROUTES,
  HTTP_ROUTES,
  REFERENCE_GRANTS,
  ROUTES_CONFIG_MAP,
  SERVICES,
  serviceSummary,
} from '../delivery/resources.ts';

/** The request of `--to`, `--method` and `--header`. */
export interface AskedRequest {
  readonly to: URL;
  readonly method: string;
  readonly headers: readonly string[];
}

/** The ports of other hosts that capture.sh leaves out. */
const EXCLUDED_PORTS = 'initializer.kubernetes.io/envoy-exclude-outbound-ports';

/** Says which rule takes a request of a pod, and why the others do not. */
export async function checkRequest(
  client: KubeClient,
  namespace: string,
  name: string,
  { to, method, headers }: AskedRequest,
  keys: Keys,
): Promise<ObjectReport> {
  const pod = await ifFound(client.get(PODS, { namespace, name }));
  if (pod === undefined) throw new UsageError(`pod/${name} does not exist in namespace ${namespace}`);
  const object = `pod/${name} to ${to.href}`;
  const bypass = bypassOf(pod, to, keys);
  if (bypass) {
    return { object, namespace, because: [STRAIGHT], findings: [bypass] };
  }
  const { compilation, services } = await compileLive(client);
  const service = services.find((each) => isNamed(each, to.hostname, namespace));
  const port = portOf(to);
  const findings: CheckFinding[] = [];
  const { text, leftOut } = compilation.file(namespace);
  const from = service?.metadata.namespace ?? '';
  const left = leftOut.get(from);
  if (left !== undefined) {
    findings.push({ reason: 'RoutesTooLarge', message: leftOutText(from, left, namespace) });
  }
  const map = await ifReadable(client.get(CONFIG_MAPS, { namespace, name: ROUTES_CONFIG_MAP }));
  if (map?.data?.[ROUTES_FILE] !== text) {
    const why = await lastWords(client, namespace, `ConfigMap/${ROUTES_CONFIG_MAP}`);
    const message = `ConfigMap ${ROUTES_CONFIG_MAP} in namespace ${namespace} differs from the live routes, or you are not allowed to read it: ${why}`;
    findings.push({ reason: 'routes-behind', message });
  }
  const routed = compilation
    .ports(namespace)
    .find((each) => service && each.service === keyOf(service) && each.port === port);
  if (!routed) return { object, namespace, because: [unrouted(service, to, port)], findings };
  const path = `${to.pathname}${to.search}`;
  const compared = explainRequest(routed, { method, path, headers: headersOf(headers, to) });
  const winner = compared.find(({ wins }) => wins);
  if (winner) findings.push(...ruleFaults(compilation, winner.entry));
  return { object, namespace, because: explain(routed, compared, namespace), findings };
}

/** What is wrong with a rule, as `check` says it of the whole route. */
function ruleFaults({ routes }: Compilation, { route, rule }: Entry): readonly CheckFinding[] {
  return (routes.get(route)?.faults ?? [])
    .filter(({ path, reason }) => path.startsWith(`rules[${rule}]`) && FAULT_REASONS[reason] !== 'none')
    .map((fault) => ({ reason: fault.reason, message: formatDiagnostic(fault) }));
}

const STRAIGHT = 'no route applies: the request goes straight to its destination';

/** Why the requests of a pod do not go through routes at all; undefined if they do. */
function bypassOf({ metadata }: KubeObject, to: URL, keys: Keys): CheckFinding | undefined {
  const status = parseStatus(metadata.annotations?.[keys.status]);
  if (!status) return { reason: 'no-sidecar', message: `the pod has no sidecar: see why without --to` };
  if (!status.added.volumes?.includes(ROUTES_CONFIG_MAP)) {
    const templates = status.templates.map(({ name }) => name).join(', ');
    const message = `the sidecar (template ${templates}) does not capture the pod's requests: routes need the template "transparent" (docs/routing.md)`;
    return { reason: 'no-capture', message };
  }
  const excluded = metadata.annotations?.[EXCLUDED_PORTS] ?? '';
  if (!excluded.split(/[\s,]+/).some((port) => Number(port) === portOf(to))) return undefined;
  return {
    reason: 'excluded-port',
    message: `port ${portOf(to)} bypasses the sidecar: see the annotation ${EXCLUDED_PORTS}`,
  };
}

function portOf({ port }: URL): number {
  return port === '' ? 80 : Number(port);
}

function explain(port: RoutedPort, compared: readonly Comparison[], namespace: string): readonly string[] {
  const winner = compared.find(({ wins }) => wins);
  return [
    winner
      ? `${entryName(winner.entry)} ${winner.why}: ${actionText(winner.entry)}`
      : 'no rule matches, so the answer is 404',
    ...compared
      .filter(({ wins }) => !wins)
      .map(({ entry, why }) => `${entryName(entry)} is not used: ${why}`),
    `the routes are in namespace ${port.isConsumer ? namespace : port.namespace}`,
  ];
}

function actionText({ action }: Entry): string {
  if (action.kind === 'error') return 'returns 500, because the rule is invalid';
  if (action.kind === 'redirect') return `returns ${action.redirect.status}, a redirect`;
  const total = action.backends.reduce((sum, { weight }) => sum + weight, 0);
  if (total === 0) return 'returns 500, because no backend has a weight above 0';
  return action.backends
    .filter(({ weight }) => weight > 0)
    .map((each) => {
      const to = 'broken' in each ? 'an error (500)' : `${each.service}:${each.port}`;
      return `${Math.round((each.weight / total) * 1000) / 10}% to ${to}`;
    })
    .join(', ');
}

function unrouted(service: Service | undefined, { hostname }: URL, port: number): string {
  if (!service) return `no Service has the name or address ${hostname}, so no route applies`;
  return `no route applies to Service ${keyOf(service)} port ${port}`;
}

/** Whether a host is a name or an address of the Service, as a pod in the namespace says it. */
function isNamed({ metadata, spec }: Service, host: string, namespace: string): boolean {
  const address = host.replace(/^\[|\]$/g, '');
  if ((spec?.clusterIPs ?? []).includes(address)) return true;
  const [name, of = namespace, ...rest] = host.split('.');
  if (rest.length > 0 && rest[0] !== 'svc') return false;
  return name === metadata.name && of === metadata.namespace;
}

function headersOf(given: readonly string[], { host }: URL): Readonly<Record<string, string>> {
  const pairs = given.map((text) => {
    const [name = '', value = ''] = text.split(/:\s*(.*)/s);
    return [name.toLowerCase(), value] as const;
  });
  return { host, ':authority': host, ...Object.fromEntries(pairs) };
}

/** All routes of the cluster. @throws UsageError if it serves none. */
export async function liveRoutes(client: KubeClient): Promise<readonly Route[]> {
  const routes = await all(client, HTTP_ROUTES);
  if (routes === undefined)
    throw new UsageError(
      'the cluster does not serve HTTPRoutes: kubectl apply --server-side -k deploy/overlays/gateway-api',
    );
  return [...routes, ...((await all(client, GRPC_ROUTES)) ?? [])];
}

/** Compiles the routes of the cluster. @throws UsageError if it serves none. */
export async function compileLive(client: KubeClient) {
  const routes = await liveRoutes(client);
  const services = (await all(client, SERVICES)) ?? [];
  const grants = (await all(client, REFERENCE_GRANTS)) ?? [];
  const compilation = compileRoutes({
    routes,
    grants,
    services: new Map(services.map((service) => [keyOf(service), serviceSummary(service)])),
  });
  return { compilation, services };
}

/** All objects of a kind, in all namespaces; undefined if the cluster does not have the kind. */
async function all<T extends KubeObject>(client: KubeClient, resource: Resource<T>) {
  return (await ifFound(client.list(resource, {})))?.items.map((item) => resource.decode(item));
}
