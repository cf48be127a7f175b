import { type Command, InvalidArgumentError } from 'commander';
import type { CheckParts, ToolParts } from '../../../cli/add-on.ts';
import { nameInTarget, parseTarget } from '../../../cli/check/check-target.ts';
import { checked } from '../../../cli/options/option-values.ts';
import type { ClusterOptions } from '../../../cli/options/tool-options.ts';
import { type StatusFacts, tried } from '../../../cli/status/facts.ts';
import { about, type CheckResult, flag, none, ok } from '../../../cli/status/rows.ts';
import { objectsOf } from '../../../cli/uninstall/remover.ts';
import { keysFor } from '../../../injection/keys.ts';
import { metadataOf } from '../../../kube/api/resource.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import { isServed } from '../../../kube/client/discovery.ts';
import { UsageError } from '../../../kube/util/errors.ts';
import { listed } from '../../../util/clip.ts';
import { TOKEN } from '../compile/parse-match.ts';
import { GRPC_ROUTES, HTTP_ROUTES, ROUTES_LABEL } from '../delivery/resources.ts';
import { checkRoute } from './check-route.ts';
import { checkRequest } from './check-routes.ts';

/** What routes add to the commands of the core. */
export const tools: ToolParts = {
  check: { addOptions: addRequestOptions, question: routeQuestion },
  status: async (client, facts) => [{ check: 'routes', ...(await verdict(client, facts)) }],
  staying,
};

async function verdict(client: KubeClient, facts: StatusFacts): Promise<CheckResult> {
  if (flag(facts, 'routes') === 'off') return none('off (--routes)');
  return about(await tried(() => isServed(client, HTTP_ROUTES)), (isKnown) =>
    isKnown
      ? ok('the API server serves HTTPRoutes')
      : none('the cluster does not serve HTTPRoutes (Gateway API)'),
  );
}

async function staying(client: KubeClient): Promise<readonly string[]> {
  const maps = await objectsOf(client, metadataOf('v1', 'ConfigMap'), {
    labelSelector: ROUTES_LABEL,
  });
  const namespaces = maps.map(({ metadata }) => metadata.namespace ?? '');
  return maps.length === 0
    ? []
    : [`ConfigMap envoy-routes is kept for running sidecars, in namespaces ${listed(namespaces)}`];
}

interface RequestOptions {
  readonly to?: URL;
  readonly method?: string;
  readonly header?: readonly string[];
}

/** Adds the flags of `check` that describe a request. */
function addRequestOptions(command: Command): void {
  command
    .option('--to <url>', 'show which rule handles a request from the target pod to this URL', parseUrl)
    .option('-X, --method <name>', 'method of the request (default: GET)', parseMethod)
    .option<readonly string[]>(
      '-H, --header <line>',
      'header of the request, such as "version: 2"; can be repeated',
      (line, lines = []) => [...lines, parseHeader(line)],
    );
}

/** Parses the value of `--to`. */
function parseUrl(value: string): URL {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url?.protocol !== 'http:') {
    throw new InvalidArgumentError(
      'Use a URL such as http://web/path. Sidecars forward https without decrypting it.',
    );
  }
  return url;
}

const parseMethod = checked((value) => TOKEN.test(value), 'Use a method such as POST.');
const parseHeader = checked(
  (line) => line.includes(':') && TOKEN.test(line.split(':', 1)[0] ?? ''),
  'Use a name and a value such as "version: 2".',
);

/** The question about a route, or about a request of a pod, that a target and the flags are. */
function routeQuestion(
  target: string | undefined,
  { to, method, header, annotation }: RequestOptions & ClusterOptions,
): ReturnType<NonNullable<CheckParts['question']>> {
  const [route] = [HTTP_ROUTES, GRPC_ROUTES].flatMap((resource) => {
    const name = target === undefined ? undefined : nameInTarget(target, resource);
    return name === undefined ? [] : [{ kind: resource.kind, name }];
  });
  if (to === undefined) {
    if (method ?? header) throw new UsageError('--method and --header work with --to only: add --to URL');
    if (route === undefined) return undefined;
    return (client, namespace) => checkRoute(client, route.kind, { namespace, name: route.name });
  }
  const pod = target === undefined || route !== undefined ? undefined : parseTarget(target);
  if (pod?.workload.kind !== 'Pod') {
    throw new UsageError('--to works with a pod only: use a target such as pod/web-0');
  }
  const { name } = pod;
  const request = { to, method: method ?? 'GET', headers: header ?? [] };
  return (client, namespace) => checkRequest(client, namespace, name, request, keysFor(annotation));
}
