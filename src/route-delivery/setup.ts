import { CONFIG_MAPS } from '../kube/api/core-resources.ts';
import { type KubeObject, keyOf } from '../kube/api/object.ts';
import type { Informer } from '../kube/cache/informer.ts';
import { waitForSync } from '../kube/cache/wait-for-sync.ts';
import type { Manager } from '../kube/manager/manager.ts';
import { type Compilation, compileRoutes } from '../routing/compile.ts';
import { cachedAge, configurationRead, ENVOY_CONFIG_MAP } from '../sidecar/envoy/configuration-age.ts';
import { keysFor } from '../sidecar/keys.ts';
import { parseStatus } from '../sidecar/status.ts';
import { askSidecar } from './ask-sidecar.ts';
import { Changes } from './changes.ts';
import { routeMetrics } from './metrics.ts';
import { Progress } from './progress.ts';
import {
  HTTP_ROUTES,
  ONLY_ROUTES_MAPS,
  ROUTES_CONFIG_MAP,
  ROUTES_MAPS,
  SERVICES,
  serviceSummary,
} from './resources.ts';
import { RouteFiles } from './route-files.ts';
import { RouteStatus } from './route-status.ts';
import { createRouteHandler, PARENT, parentsIn } from './route-warnings.ts';
import { ROUTED_IN, Sidecars } from './sidecars.ts';

/** The flags of `serve` for routes. */
export interface RouteOptions {
  readonly namespace: string;
  readonly annotation: string;
  readonly routes: 'auto' | 'off';
  readonly routesTouch: boolean;
}

export interface RouteSetupOptions extends RouteOptions {
  readonly fleet: {
    /** Live pods: what they are called, and the annotation of injected ones. */
    readonly pods: Informer<KubeObject>;
    /** Runs before a namespace gets its first copy of Envoy’s configuration, for which its first pod waits. */
    beforeCopy(task: (namespace: string, signal: AbortSignal) => Promise<void>): void;
  };
}

const FILE_WORKERS = 8;
/** More than 20: a change is to reach 50 pods in seconds. Most of their time they wait. */
const SIDECAR_WORKERS = 32;
const STATUS_WORKERS = 2;
/** How often new and ended sidecars are counted in statuses. */
const NUMBERS_MS = 10_000;
const FIRST_FILE_MS = 5000;
/** The path of the webhook. */
const WARNINGS = '/validate-route';
const MAPS_METADATA = { ...ROUTES_MAPS, metadataOnly: true as const };

/** Sets up the delivery of HTTPRoutes to sidecars, once the API server serves them. */
export function setUpRouteDelivery(manager: Manager, options: RouteSetupOptions): void {
  if (options.routes === 'off') {
    manager.webhook(WARNINGS, async () => ({ allowed: true }));
    return;
  }
  const { fleet, namespace: home } = options;
  const { leaderClient, clock, events } = manager;
  const [metrics, keys] = [routeMetrics(manager.registry), keysFor(options.annotation)];
  const served = manager.served(HTTP_ROUTES);
  const startWhen = served.until;
  const routes = manager.informer(HTTP_ROUTES, { startWhen, indexers: { [PARENT]: parentsIn } });
  const services = manager.informer(SERVICES, { startWhen, transform: serviceSummary });
  const maps = manager.informer(MAPS_METADATA, { fieldSelector: ONLY_ROUTES_MAPS, startWhen });
  // The same as for the copies of it.
  const envoyMaps = manager.informer(CONFIG_MAPS, { fieldSelector: `metadata.name=${ENVOY_CONFIG_MAP}` });
  const { pods } = fleet;
  const isRouted = ({ metadata }: KubeObject) =>
    parseStatus(metadata.annotations?.[keys.status])?.added.volumes?.includes(ROUTES_CONFIG_MAP) ?? false;
  pods.addIndexers({
    [ROUTED_IN]: (pod) => (isRouted(pod) && pod.metadata.namespace ? [pod.metadata.namespace] : []),
  });
  const after = (signal: AbortSignal) => waitForSync([routes, services, maps, pods], signal);
  const fileWork = manager.controller('route-files', FILE_WORKERS);
  const sidecarWork = manager.controller('route-sidecars', SIDECAR_WORKERS);
  const statusWork = manager.controller('route-status', STATUS_WORKERS);
  const [progress, changes] = [new Progress(), new Changes(clock)];

  let known: Compilation | undefined;
  const compilation = (): Compilation => {
    if (known) return known;
    known = compileRoutes({ routes: routes.lister.list(), services: services.lister });
    progress.compiled(routes.lister.list().map((route) => [keyOf(route), route]));
    return known;
  };
  const podsIn = (namespace: string) => pods.lister.byIndex(ROUTED_IN, namespace);
  const namespacesOf = (objects: readonly KubeObject[]) =>
    new Set(objects.flatMap(({ metadata }) => metadata.namespace ?? []));
  const routedPods = () => pods.lister.list().filter(isRouted);

  const hasSidecars = (namespace: string) => podsIn(namespace).length > 0;
  const warnings = createRouteHandler({
    routes: routes.lister,
    services: services.lister,
    hasSynced: () => [routes, services, maps, pods].every((informer) => informer.hasSynced()),
    hasSidecars: (namespace) =>
      namespace === undefined
        ? [...namespacesOf(maps.lister.list())].some(hasSidecars)
        : hasSidecars(namespace),
    clock,
  });
  manager.webhook(WARNINGS, warnings);

  const sidecars = new Sidecars({
    client: leaderClient,
    pods: pods.lister,
    touch: options.routesTouch,
    ask: askSidecar,
    now: () => clock.now(),
    wallClock: () => new Date(),
    taken: metrics.taken,
    read: (pod) => configurationRead(pod, keys),
    configuration: (namespace) => cachedAge(envoyMaps.lister.get(`${namespace}/${ENVOY_CONFIG_MAP}`)),
  });
  metrics.watch(
    () => sidecars.behind(),
    () => sidecars.withOlderConfiguration(),
  );
  const files = new RouteFiles({
    client: leaderClient,
    configMaps: maps.lister,
    namespace: home,
    file(namespace) {
      const file = compilation().file(namespace);
      progress.wanted(namespace, file.version);
      return file;
    },
    hasSidecars,
    events,
    delivered(namespace, file, isNew) {
      metrics.size(namespace, Buffer.byteLength(file.text));
      if (isNew) metrics.written();
      if (!sidecars.delivered(namespace, file.version, isNew)) return;
      for (const pod of podsIn(namespace)) sidecarWork.queue.add(keyOf(pod));
    },
    refused(namespace) {
      metrics.refused();
      sidecars.refused(namespace);
    },
    forget(namespace) {
      metrics.forget(namespace);
      sidecars.forgetFile(namespace);
      progress.forget(namespace);
    },
  });
  const status = new RouteStatus({
    client: leaderClient,
    routes: routes.lister,
    compiled: (key) => compilation().routes.get(key),
    programmed: (key) =>
      progress.of(
        key,
        compilation(),
        new Set([...namespacesOf(maps.lister.list()), ...files.obstacles.keys()]),
        (namespace) => sidecars.tally(namespace),
        (namespace) => files.obstacles.get(namespace),
      ),
    isSurveyed: () => sidecars.isSurveyed(namespacesOf(maps.lister.list())),
    events,
    now: () => clock.now(),
    wallClock: () => new Date(),
  });

  const mark = () => changes.mark();
  services.addEventHandler({ onAdd: mark, onUpdate: mark, onDelete: mark });
  routes.addEventHandler({
    onAdd: mark,
    onUpdate(before, route) {
      const isSame =
        before.metadata.uid === route.metadata.uid &&
        before.metadata.generation === route.metadata.generation;
      // Only the status has changed.
      if (isSame) statusWork.queue.add(keyOf(route));
      else changes.mark();
    },
    onDelete: mark,
  });
  const onMap = ({ metadata: { namespace = '' } }: KubeObject) => fileWork.queue.add(namespace);
  maps.addEventHandler({ onAdd: onMap, onUpdate: (_, map) => onMap(map), onDelete: onMap });
  const queueMissingFile = (namespace: string) => {
    if (!maps.lister.get(`${namespace}/${ROUTES_CONFIG_MAP}`)) fileWork.queue.add(namespace);
  };
  const onPod = (pod: KubeObject) => {
    const { namespace } = pod.metadata;
    if (namespace === undefined || !isRouted(pod)) return;
    queueMissingFile(namespace);
    sidecarWork.queue.add(keyOf(pod));
  };
  pods.addEventHandler({
    onAdd: onPod,
    onUpdate(before, pod) {
      if (before.metadata.uid !== pod.metadata.uid) sidecars.forget(before);
      onPod(pod);
    },
    onDelete(pod) {
      sidecars.forget(pod);
      const { namespace } = pod.metadata;
      if (namespace !== undefined && isRouted(pod)) queueMissingFile(namespace);
    },
  });

  const queueStatuses = () => {
    for (const route of routes.lister.list()) statusWork.queue.add(keyOf(route));
  };
  manager.singleton(
    'route-changes',
    (signal) => {
      const handle = () => {
        known = undefined;
        for (const namespace of namespacesOf(maps.lister.list())) fileWork.queue.add(namespace);
        queueStatuses();
      };
      changes.mark();
      return changes.run(handle, signal);
    },
    { after },
  );
  const numbers = async () => {
    if (sidecars.hasChanged()) queueStatuses();
  };
  manager.singleton('route-numbers', numbers, { after, everyMs: NUMBERS_MS });
  fileWork.reconcile((namespace, signal) => files.reconcile(namespace, signal), {
    keys: () => namespacesOf([...routedPods(), ...maps.lister.list()]),
    after,
  });
  const ended = () => {
    known = undefined;
    sidecars.clear();
    metrics.reset();
  };
  const sidecarKeys = () => routedPods().map(keyOf);
  sidecarWork.reconcile((key, signal) => sidecars.reconcile(key, signal), {
    keys: sidecarKeys,
    after,
    ended,
  });
  statusWork.reconcile((key, signal) => status.reconcile(key, signal), {
    keys: () => routes.lister.list().map(keyOf),
    after,
  });

  fleet.beforeCopy(async (namespace, signal) => {
    if (served.isServed !== true) return;
    const limited = AbortSignal.any([signal, AbortSignal.timeout(FIRST_FILE_MS)]);
    if (await after(limited)) await files.reconcile(namespace, signal, true);
  });
}
