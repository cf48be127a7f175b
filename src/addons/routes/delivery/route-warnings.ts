import type { AdmissionRequest, ReviewHandler } from '../../../kube/admission/review.ts';
import type { Lister } from '../../../kube/cache/store.ts';
import type { Slices } from '../../../kube/util/slices.ts';
import { sleep } from '../../../kube/util/waits.ts';
import type { Clock } from '../../../kube/workqueue/clock.ts';
import { isArray, isObject, type JsonValue, own, sameJson } from '../../../util/json.ts';
import { parentsIn, portsOf } from '../compile/attach.ts';
import { compileSteps } from '../compile/compile.ts';
import { NO_SIDECAR, type RouteProblem, routeProblems } from '../compile/explain.ts';
import type { ReferenceGrant } from '../compile/grants.ts';
import { type Route, routeKey, type Service } from '../compile/route.ts';
import { GRPC_ROUTES, HTTP_ROUTES } from './resources.ts';

export interface RouteWarningsOptions {
  /** With the index PARENT. */
  readonly routes: Pick<Lister<Route>, 'byIndex'>;
  readonly services: Pick<Lister<Service>, 'get'>;
  readonly grants: Pick<Lister<ReferenceGrant>, 'list'>;
  hasSynced(): boolean;
  /** Whether sidecars follow routes in a namespace, or anywhere if it is undefined. */
  hasSidecars(namespace: string | undefined): boolean;
  readonly clock: Clock;
  readonly slices: Pick<Slices, 'run'>;
}

/** The index of routes by the Services that are their parents. */
export const PARENT = 'parent';

/** The longest list of the CRD. */
const MAX_ITEMS = 64;
/** More routes of one Service are not compared with a new one. */
const MAX_OTHERS = 500;
/** A Service or grant that was applied just before its route may not be in the cache yet. */
const LOOKS = 4;
const LOOK_MS = 100;
/** More reviews are answered without warnings: bodies of all webhooks share one room, and these keep theirs for long. */
const MAX_AT_ONCE = 4;

/**
 * The webhook that warns the author of a route of what `status` and `check` would say later. It never rejects a route:
 * what is missing may come later, and other controllers may know more.
 */
export function createRouteHandler(options: RouteWarningsOptions): ReviewHandler {
  let atOnce = 0;
  return async (request, signal) => {
    if (atOnce >= MAX_AT_ONCE || !options.hasSynced()) return { allowed: true };
    const route = isAsDefined(own(request.object, 'spec')) ? changedRoute(request) : undefined;
    if (route === undefined) return { allowed: true };
    atOnce += 1;
    try {
      const problems = await lastProblemsOf(route, options, signal);
      return { allowed: true, warnings: problems.map(({ reason, message }) => `${reason}: ${message}`) };
    } finally {
      atOnce -= 1;
    }
  };
}

async function lastProblemsOf(
  route: Route,
  options: RouteWarningsOptions,
  signal: AbortSignal,
): Promise<readonly RouteProblem[]> {
  for (let look = 1; ; look += 1) {
    const problems = await problemsOf(route, options, signal);
    if (look === LOOKS || !problems.some(mayComeSoon)) return problems;
    await sleep(options.clock, LOOK_MS, signal);
  }
}

/** Steps that end once nobody waits for their result. */
function* awaited<T>(steps: Generator<void, T>, signal: AbortSignal): Generator<void, T> {
  for (;;) {
    signal.throwIfAborted();
    const step = steps.next();
    if (step.done) return step.value;
    yield;
  }
}

/** Whether all lists are as short as the CRD has them. Others than the API server may call the webhook. */
function isAsDefined(value: JsonValue | undefined): boolean {
  if (isArray(value)) return value.length <= MAX_ITEMS && value.every(isAsDefined);
  return !isObject(value) || Object.values(value).every(isAsDefined);
}

/** The route that the request creates, or whose spec it changes; undefined for any other request. */
function changedRoute(request: AdmissionRequest): Route | undefined {
  const { kind, operation, subResource, namespace, name = '', object, oldObject } = request;
  const isChange = (operation === 'CREATE' || operation === 'UPDATE') && subResource === '';
  const resource = [HTTP_ROUTES, GRPC_ROUTES].find(
    (each) => each.group === kind.group && each.kind === kind.kind,
  );
  if (!isChange || !resource) return undefined;
  if (!isObject(object) || sameJson(own(object, 'spec') ?? null, own(oldObject, 'spec') ?? null))
    return undefined;
  const route = resource.decode(object);
  return { ...route, metadata: { creationTimestamp: NEWEST, ...route.metadata, namespace, name } };
}

/** Comes after all times. */
const NEWEST = '9999';

async function problemsOf(
  route: Route,
  { routes, services, grants, hasSidecars, slices }: RouteWarningsOptions,
  signal: AbortSignal,
): Promise<readonly RouteProblem[]> {
  const key = routeKey(route);
  const others = new Map(
    parentsIn(route)
      .flatMap((parent) => routes.byIndex(PARENT, parent))
      // Those of others never hold for the same clients.
      .filter(({ metadata }) => metadata.namespace === route.metadata.namespace)
      .map((other) => [routeKey(other), other]),
  );
  others.delete(key);
  const compared = others.size > MAX_OTHERS ? [] : others.values();
  const { namespace = '' } = route.metadata;
  const steps = compileSteps({ routes: [route, ...compared], services, grants: grants.list() });
  const compilation = await slices.run(namespace, awaited(steps, signal));
  const problems = routeProblems(compilation, key);
  const ports = portsOf(compilation.routes.get(key)?.attachments ?? []);
  if (ports.length === 0) return problems;
  const isConsumer = ports.every((port) => port.namespace !== namespace);
  return hasSidecars(isConsumer ? namespace : undefined) ? problems : [...problems, NO_SIDECAR];
}

/** Whether waiting may help. */
function mayComeSoon({ reason }: RouteProblem): boolean {
  return reason === 'NoMatchingParent' || reason === 'BackendNotFound' || reason === 'RefNotPermitted';
}
