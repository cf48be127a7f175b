import type { JsonObject } from '../inject/json.ts';

const TYPE = 'type.googleapis.com/envoy';
const HTTP_OPTIONS = `${TYPE}.extensions.upstreams.http.v3.HttpProtocolOptions`;

/** Where the sidecar says whether it is ready, to the kubelet: its admin endpoint is for the pod alone. */
export const READINESS_PORT = 15021;

/**
 * The configurations that come with the operator, each a bootstrap of Envoy (v3): the files of the ConfigMap `envoy`.
 * Port 80 is the sidecar's own; the application is on 127.0.0.1:8080.
 */
export const ENVOY_CONFIGURATIONS: Readonly<Record<string, JsonObject>> = {
  'envoy.json': bootstrap({
    routes: { cluster: 'app' },
    clusters: [cluster('app', 'STATIC', '127.0.0.1')],
  }),
  'canary.json': {
    ...bootstrap({
      routes: {
        weighted_clusters: {
          runtime_key_prefix: 'canary',
          clusters: [
            { name: 'app_v1', weight: 100 },
            { name: 'app_v2', weight: 0 },
          ],
        },
      },
      clusters: [cluster('app_v1', 'STRICT_DNS', 'app-v1'), cluster('app_v2', 'STRICT_DNS', 'app-v2')],
    }),
    // The kubelet replaces `..data` when the ConfigMap changes, and Envoy follows that link.
    layered_runtime: {
      layers: [{ name: 'weights', disk_layer: { symlink_root: '/etc/envoy-weights/..data' } }],
    },
  },
};

function bootstrap(app: {
  readonly routes: JsonObject;
  readonly clusters: readonly JsonObject[];
}): JsonObject {
  const admin = { socket_address: { address: '127.0.0.1', port_value: 9901 } };
  return {
    admin: { address: admin },
    static_resources: {
      listeners: [
        listener('http', 80, {
          access_log: [
            {
              name: 'stdout',
              typed_config: { '@type': `${TYPE}.extensions.access_loggers.stream.v3.StdoutAccessLog` },
            },
          ],
          // The address of the client goes on in X-Forwarded-For.
          use_remote_address: true,
          upgrade_configs: [{ upgrade_type: 'websocket' }],
          route: {
            ...app.routes,
            // As long as the application takes: 15 s is what Envoy would give it.
            timeout: '0s',
            // No request was sent where no connection was made: another try repeats nothing.
            retry_policy: { retry_on: 'connect-failure', num_retries: 3 },
          },
        }),
        listener('readiness', READINESS_PORT, { path: '/ready', route: { cluster: 'admin' } }),
      ],
      clusters: [
        ...app.clusters,
        {
          name: 'admin',
          type: 'STATIC',
          connect_timeout: '1s',
          load_assignment: {
            cluster_name: 'admin',
            endpoints: [{ lb_endpoints: [{ endpoint: { address: admin } }] }],
          },
        },
      ],
    },
  };
}

interface HttpListener {
  readonly route: JsonObject;
  /** The one path that it serves; undefined for all. */
  readonly path?: string;
  readonly [option: string]: JsonObject[string] | undefined;
}

function listener(name: string, port: number, { route, path, ...options }: HttpListener): JsonObject {
  const match: JsonObject = path === undefined ? { prefix: '/' } : { path };
  return {
    name,
    address: { socket_address: { address: '0.0.0.0', port_value: port } },
    filter_chains: [
      {
        filters: [
          {
            name: 'http_connection_manager',
            typed_config: {
              '@type': `${TYPE}.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager`,
              stat_prefix: name,
              ...(options as JsonObject),
              route_config: { virtual_hosts: [{ name, domains: ['*'], routes: [{ match, route }] }] },
              http_filters: [
                {
                  name: 'router',
                  typed_config: { '@type': `${TYPE}.extensions.filters.http.router.v3.Router` },
                },
              ],
            },
          },
        ],
      },
    ],
  };
}

/** Speaks to the application what its client speaks to us, HTTP/1.1 or HTTP/2 (gRPC). */
function cluster(name: string, type: 'STATIC' | 'STRICT_DNS', address: string): JsonObject {
  return {
    name,
    type,
    connect_timeout: '1s',
    typed_extension_protocol_options: {
      'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': {
        '@type': HTTP_OPTIONS,
        use_downstream_protocol_config: { http_protocol_options: {}, http2_protocol_options: {} },
      },
    },
    load_assignment: {
      cluster_name: name,
      endpoints: [
        { lb_endpoints: [{ endpoint: { address: { socket_address: { address, port_value: 8080 } } } }] },
      ],
    },
  };
}
