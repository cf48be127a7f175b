import { type Command, Option } from 'commander';
import type { CheckParts } from '../../../cli/add-on.ts';
import { nameInTarget, parseTarget } from '../../../cli/check/check-target.ts';
import type { ClusterOptions } from '../../../cli/options/tool-options.ts';
import { keysFor } from '../../../injection/keys.ts';
import { UsageError } from '../../../kube/util/usage-error.ts';
import { GRPC_ROUTES, HTTP_ROUTES } from '../delivery/resources.ts';
import { checkRoute } from './check-route.ts';
import { checkRequest, parseHeader, parseMethod, parseUrl } from './check-routes.ts';

interface RequestOptions {
  readonly to?: URL;
  readonly method?: string;
  readonly header?: readonly string[];
}

const TARGETS = [
  { resource: HTTP_ROUTES, names: ['httproute', 'httproutes'] },
  { resource: GRPC_ROUTES, names: ['grpcroute', 'grpcroutes'] },
] as const;

/** Adds the flags of `check` that describe a request. */
export function addRequestOptions(command: Command): void {
  command
    .addOption(
      new Option('--to <url>', 'show which rule handles a request from the target pod to this URL').argParser(
        parseUrl,
      ),
    )
    .addOption(
      new Option('-X, --method <name>', 'method of the request (default: GET)').argParser(parseMethod),
    )
    .addOption(
      new Option(
        '-H, --header <line>',
        'header of the request, such as "version: 2"; can be repeated',
      ).argParser((line, lines: readonly string[] = []) => [...lines, parseHeader(line)]),
    );
}

/** The question about a route, or about a request of a pod, that a target and the flags are. */
export const routeQuestion: NonNullable<CheckParts['question']> = (target, options) => {
  const { to, method, header, annotation }: RequestOptions & ClusterOptions = options;
  const [route] = TARGETS.flatMap((each) => {
    const name = target === undefined ? undefined : nameInTarget(target, each);
    return name === undefined ? [] : [{ kind: each.resource.kind, name }];
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
};
