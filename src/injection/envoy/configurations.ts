import type { JsonObject } from '../../util/json.ts';
import { CAPTURE_SCRIPT } from './capture-script.ts';
import { OVERLOAD } from './limits.ts';
import { INBOUND_METRICS, METRICS_BOOTSTRAP, METRICS_LISTENER } from './metrics.ts';
import {
  accessLog,
  address,
  asItsClient,
  cluster,
  httpFilter,
  ownRoutes,
  patientRoute,
  READINESS_PORT,
  RENEWED,
} from './parts.ts';
import { DRAIN_LAYER, fileRoutes, NO_ROUTES, READINESS, READY_ROUTES, ROUTES_BOOTSTRAP } from './routed.ts';
import { CAPTURE_CLUSTERS, CAPTURE_LISTENERS } from './transparent.ts';

const ADMIN = address('127.0.0.1', 9901);

/**
 * The configurations that come with the operator, each a bootstrap of Envoy (v3). In the first two, the sidecar
 * listens on port 80 and the application on port 8080. In the last, Envoy captures the application's ports.
 */
export const ENVOY_CONFIGURATIONS: Readonly<Record<string, JsonObject>> = {
  'envoy.json': bootstrap([http({ cluster: 'app' })], [app('app', 'STATIC', '127.0.0.1')]),
  'canary.json': {
    ...bootstrap(
      [
        http({
          weighted_clusters: {
            runtime_key_prefix: 'canary',
            clusters: [
              { name: 'app_v1', weight: 100 },
              { name: 'app_v2', weight: 0 },
            ],
          },
        }),
      ],
      [app('app_v1', 'STRICT_DNS', 'app-v1'), app('app_v2', 'STRICT_DNS', 'app-v2')],
    ),
    // The kubelet replaces the link `..data` when the ConfigMap changes, and Envoy watches it.
    layered_runtime: {
      layers: [{ name: 'weights', disk_layer: { symlink_root: '/etc/envoy-weights/..data' } }, DRAIN_LAYER],
    },
  },
  'transparent.json': {
    ...bootstrap(CAPTURE_LISTENERS, CAPTURE_CLUSTERS, fileRoutes(READINESS)),
    ...ROUTES_BOOTSTRAP,
  },
};

/** The content of the ConfigMap `envoy`: the configurations, and the script of the init container for `transparent`. */
export const ENVOY_FILES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries(ENVOY_CONFIGURATIONS).map(([name, value]) => [
      name,
      `${JSON.stringify(value, null, 2)}\n`,
    ]),
  ),
  'capture.sh': CAPTURE_SCRIPT,
  'no-routes': NO_ROUTES,
};

function bootstrap(
  listeners: readonly JsonObject[],
  clusters: readonly JsonObject[],
  readiness = ownRoutes(READINESS, READY_ROUTES),
): JsonObject {
  return {
    admin: { address: ADMIN },
    static_resources: {
      listeners: [...listeners, listener(READINESS, READINESS_PORT, readiness), METRICS_LISTENER],
      clusters: [...clusters, cluster('admin', 'STATIC', ADMIN)],
    },
    layered_runtime: { layers: [DRAIN_LAYER] },
    ...METRICS_BOOTSTRAP,
    ...OVERLOAD,
  };
}

/** Port 80, for the application. */
function http(target: JsonObject): JsonObject {
  return listener('http', 80, {
    ...accessLog(INBOUND_METRICS),
    ...RENEWED,
    // Forwards the address of the client in X-Forwarded-For.
    use_remote_address: true,
    upgrade_configs: [{ upgrade_type: 'websocket' }],
    ...ownRoutes('http', [{ match: { prefix: '/' }, route: patientRoute(target) }]),
  });
}

function listener(name: string, port: number, options: JsonObject): JsonObject {
  return {
    name,
    address: address('0.0.0.0', port),
    filter_chains: [{ filters: [httpFilter(name, options)] }],
  };
}

function app(name: string, type: 'STATIC' | 'STRICT_DNS', host: string): JsonObject {
  return { ...cluster(name, type, address(host, 8080)), ...asItsClient() };
}
