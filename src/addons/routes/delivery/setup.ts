import { isDeepStrictEqual } from 'node:util';
import { type KubeObject, keyOf } from '../../../kube/api/object.ts';
import { regardingOf } from '../../../kube/api/resource.ts';
import { tellRefusal } from '../../../kube/controller/refusals.ts';
import type { Manager } from '../../../kube/manager/manager.ts';
import { Slices } from '../../../kube/util/slices.ts';
import type { Core } from '../../../operator/core.ts';
import { type Route, routeKey } from '../compile/route.ts';
import { CONTROLLER_NAME } from '../compile/status.ts';
import { askSidecar } from './ask-sidecar.ts';
import { Changes, LiveCompilation } from './live-compilation.ts';
import { routeMetrics, weightsOf } from './metrics.ts';
import { Progress } from './progress.ts';
import { HTTP_ROUTES, resourceOf } from './resources.ts';
import { namespacesOf, RouteCaches } from './route-caches.ts';
import { RouteFiles } from './route-files.ts';
import { routeStatusReconcile } from './route-status.ts';
import { createRouteHandler } from './route-warnings.ts';
import { Sidecars } from './sidecars.ts';

/** The flags of `serve` for routes. */
export interface RouteOptions {
  readonly namespace: string;
  readonly routes: 'auto' | 'off';
  readonly routesTouch: boolean;
}

const FILE_WORKERS = 8;
/** More than 20: a change is to reach 50 pods in seconds. Most of their time they wait. */
const SIDECAR_WORKERS = 32;
/** As many as hundreds of changed numbers do not hold up a route that has changed. */
const STATUS_WORKERS = 8;
/** How often changed numbers of sidecars are looked at for the statuses. */
const NUMBERS_MS = 2000;
const FIRST_FILE_MS = 5000;
/** The path of the webhook. */
const WARNINGS = '/validate-route';

/** Sets up the delivery of routes to sidecars, once the API server serves HTTPRoutes. */
export function setUpRouteDelivery(
  manager: Manager,
  { pods, envoyConfiguration, decideOptions }: Pick<Core, 'pods' | 'envoyConfiguration' | 'decideOptions'>,
  options: RouteOptions,
): void {
  if (options.routes === 'off') {
    manager.webhooks.add(WARNINGS, async () => ({ allowed: true }));
    return;
  }
  const served = manager.served(HTTP_ROUTES);
  const caches = new RouteCaches(manager, pods, decideOptions.keys, served.until);
  const slices = new Slices(manager.clock);
  const warnings = createRouteHandler({
    ...caches.listers,
    hasSynced: () => caches.hasSynced(),
    hasSidecars: (namespace) => caches.hasSidecars(namespace),
    clock: manager.clock,
    slices,
  });
  manager.webhooks.add(WARNINGS, warnings);
  const delivery = deliveryOf(manager, options, caches, slices);
  queueOnEvents(delivery);
  runChanges(manager, delivery);
  runControllers(delivery);
  envoyConfiguration.beforeCopy(async (namespace, signal) => {
    if (served.isServed !== true) return;
    const limited = AbortSignal.any([signal, AbortSignal.timeout(FIRST_FILE_MS)]);
    if (await caches.waitForSync(limited)) await delivery.files.reconcile(namespace, signal, true);
  });
}

/** The parts that deliver routes, and their queues. */
type Delivery = ReturnType<typeof deliveryOf>;

function deliveryOf(
  manager: Manager,
  { namespace, routesTouch }: RouteOptions,
  caches: RouteCaches,
  slices: Slices,
) {
  const { leaderClient: client, clock, events, log } = manager;
  const metrics = routeMetrics(manager.registry, {
    behind: () => sidecars.behind(),
    weights: () => weightsOf(caches.routes.list()),
  });
  const work = {
    files: manager.controller('route-files', FILE_WORKERS),
    sidecars: manager.controller('route-sidecars', SIDECAR_WORKERS),
    statuses: manager.controller('route-status', STATUS_WORKERS),
  };
  const progress = new Progress();
  const namespaces = () => caches.namespaces();
  const compilation = new LiveCompilation({ ...caches.listers, progress, slices, namespaces });
  const sidecars = new Sidecars({
    client,
    pods: caches.pods.lister,
    touch: routesTouch,
    ask: askSidecar,
    now: () => clock.now(),
    wallClock: () => new Date(),
    taken: metrics.taken,
    refused(pod, err) {
      log.warn({ key: keyOf(pod), err }, 'cannot annotate the pod: its sidecar gets routes later');
      tellRefusal(events, { apiVersion: 'v1', kind: 'Pod', ...pod }, err);
    },
    recount: () => progress.recount(),
  });
  const files = new RouteFiles({
    client,
    configMaps: caches.maps.lister,
    namespace,
    async file(of) {
      const file = (await compilation.get()).file(of);
      progress.wanted(of, file.version);
      return file;
    },
    hasSidecars: (of) => caches.hasSidecars(of),
    events,
    delivered(of, file, isNew) {
      metrics.size(of, file.bytes);
      if (isNew) metrics.written();
      if (!sidecars.delivered(of, file.version, isNew)) return;
      for (const pod of caches.routedPodsIn(of)) work.sidecars.queue.add(keyOf(pod));
    },
    refused() {
      metrics.refused();
      progress.recount();
    },
    forget(of) {
      metrics.forget(of);
      sidecars.forgetFile(of);
      progress.forget(of);
    },
  });
  const reconcileStatus = routeStatusReconcile({
    client,
    routes: caches.routes,
    compilation: () => compilation.get(),
    programmed: (key, compiled) =>
      progress.of(key, compiled, {
        namespaces: () => new Set([...namespaces(), ...files.obstacles.keys()]),
        tally: (namespace) => sidecars.tally(namespace),
        obstacles: files.obstacles,
      }),
    // Where the file cannot be delivered, no sidecar is asked.
    isSurveyed: () =>
      sidecars.isSurveyed(() => [...namespaces()].filter((each) => !files.obstacles.has(each))),
    events,
    now: () => clock.now(),
    wallClock: () => new Date(),
  });
  const changes = new Changes(clock);
  return { caches, changes, metrics, compilation, progress, sidecars, files, reconcileStatus, work };
}

function queueOnEvents({ caches, changes, sidecars, work }: Delivery): void {
  const mark = () => changes.mark();
  // Not for labels: the cache has what routing reads.
  const onUpdate = (before: { readonly spec?: unknown }, after: { readonly spec?: unknown }) => {
    if (!isDeepStrictEqual(before.spec, after.spec)) changes.mark();
  };
  caches.services.addEventHandler({ onAdd: mark, onUpdate, onDelete: mark });
  caches.grants.addEventHandler({ onAdd: mark, onUpdate, onDelete: mark });
  const onRoute = (before: Route, route: Route) => {
    const isSame =
      before.metadata.uid === route.metadata.uid && before.metadata.generation === route.metadata.generation;
    // Only the status has changed.
    if (isSame) work.statuses.queue.add(routeKey(route));
    else changes.mark();
  };
  const onDelete = (route: Route) => {
    work.statuses.queue.add(routeKey(route));
    changes.mark();
  };
  for (const routes of caches.routeInformers)
    routes.addEventHandler({ onAdd: mark, onUpdate: onRoute, onDelete });
  const onMap = ({ metadata: { namespace = '' } }: KubeObject) => work.files.queue.add(namespace);
  caches.maps.addEventHandler({ onAdd: onMap, onUpdate: (_, map) => onMap(map), onDelete: onMap });
  const queueMissingFile = ({ metadata: { namespace } }: KubeObject) => {
    if (namespace !== undefined && !caches.hasFile(namespace)) work.files.queue.add(namespace);
  };
  const onPod = (pod: KubeObject) => {
    if (pod.metadata.namespace === undefined || !caches.isRouted(pod)) return;
    queueMissingFile(pod);
    work.sidecars.queue.add(keyOf(pod));
  };
  caches.pods.addEventHandler({
    onAdd: onPod,
    onUpdate(before, pod) {
      if (before.metadata.uid !== pod.metadata.uid) sidecars.forget(before);
      onPod(pod);
    },
    onDelete(pod) {
      sidecars.forget(pod);
      if (caches.isRouted(pod)) queueMissingFile(pod);
    },
  });
}

/** Queues all files and statuses after changes of routes, and all statuses after changes of the numbers in them. */
function runChanges(manager: Manager, { caches, changes, compilation, progress, work }: Delivery): void {
  const after = (signal: AbortSignal) => caches.waitForSync(signal);
  const queueStatuses = () => {
    // What a route has become does not wait for the numbers of others.
    const routes = caches.routes.list().toSorted((a, b) => Number(isSaid(a)) - Number(isSaid(b)));
    for (const route of routes) work.statuses.queue.add(routeKey(route));
  };
  const handle = async () => {
    await compilation.renew();
    for (const namespace of caches.namespaces()) work.files.queue.add(namespace);
    queueStatuses();
  };
  manager.singleton(
    'route-changes',
    (signal) => {
      changes.mark();
      return changes.run(handle, signal);
    },
    { after },
  );
  const numbers = async () => {
    if (progress.hasChanged()) queueStatuses();
  };
  manager.singleton('route-numbers', numbers, { after, everyMs: NUMBERS_MS });
}

function runControllers(delivery: Delivery): void {
  const { caches, compilation, metrics, sidecars, files, reconcileStatus, work } = delivery;
  const after = (signal: AbortSignal) => caches.waitForSync(signal);
  work.files.reconcile((namespace, signal) => files.reconcile(namespace, signal), {
    keys: () => namespacesOf([...caches.routedPods(), ...caches.maps.lister.list()]),
    after,
  });
  work.sidecars.reconcile((key, signal) => sidecars.reconcile(key, signal), {
    keys: () => caches.routedPods().map(keyOf),
    after,
    ended() {
      compilation.forget();
      sidecars.clear();
      metrics.reset();
    },
  });
  work.statuses.reconcile(reconcileStatus, {
    keys: () => caches.routes.list().map(routeKey),
    after,
    waiting(key) {
      const route = caches.routes.get(key);
      return route && regardingOf(resourceOf(route), route);
    },
  });
}

/** Whether the status is about the present form of a route. */
function isSaid({ metadata, status }: Route): boolean {
  const ours = (status?.parents ?? []).filter(({ controllerName }) => controllerName === CONTROLLER_NAME);
  return ours.some(({ conditions }) => conditions[0]?.observedGeneration === metadata.generation);
}
