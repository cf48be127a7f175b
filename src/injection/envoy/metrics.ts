import type { JsonObject } from '../../util/json.ts';
import { address, httpFilter, METRICS_PORT, ownRoutes, typed } from './parts.ts';

/**
 * What Envoy counts of requests, and the listener that serves it. Both are parts of every configuration that comes with the
 * operator. The tags have names of the configuration and of the route file only: none of a request, so their number is
 * bounded. Needs Envoy 1.39: https://www.envoyproxy.io/docs/envoy/v1.39.0/api-v3/extensions/access_loggers/stats/v3/stats.proto
 */

/** The page, the one that is served of the admin interface. */
export const METRICS_PATH = '/stats/prometheus';
/** In the metadata of a route: the names of its backends by their addresses. */
export const BACKENDS = 'backends';

/** The name of the address that a request went to. */
const BACKEND = `%CEL(xds.route_metadata.filter_metadata['${BACKENDS}'][upstream.address])%`;

/** A file of routes has 2,700 backends at most. Envoy counts no further names: those that a tenant makes up take no more memory. */
const MOST_HISTOGRAMS = 5000;

/**
 * The histogram `envoy_route_milliseconds`, by the rule of an HTTPRoute and its backend. Its `_count` is the number of
 * requests: a counter beside it would look up the names once more.
 */
export const ROUTE_METRICS = logger('route', { route: '%ROUTE_NAME%', backend: BACKEND });

/** The same for requests to the application: `envoy_inbound_milliseconds`. The backend is a cluster of the configuration. */
export const INBOUND_METRICS = logger('inbound', { backend: '%UPSTREAM_CLUSTER%' });

/**
 * Codes are in classes, because an application may make up codes: `xx` alone if the client went away before an answer.
 * gRPC answers 200, and says in the last lines what went wrong.
 */
function logger(prefix: string, names: Readonly<Record<string, string>>): JsonObject {
  const tags = Object.entries({ ...names, code: '%RESP(:STATUS):1%xx', grpc_status: '%GRPC_STATUS_NUMBER%' });
  return typed('stats', 'extensions.access_loggers.stats.v3.Config', {
    // Without eviction: it forgets histograms that requests still change (1.40).
    stats_scope: { prefix, max_histograms: MOST_HISTOGRAMS },
    histograms: [
      {
        stat: { name: 'milliseconds', tags: tags.map(([name, value_format]) => ({ name, value_format })) },
        unit: 'Milliseconds',
        value_format: '%DURATION%',
      },
    ],
  });
}

/** What of Envoy's own statistics is served, beside those. */
const SERVED = '^(route|inbound|server|overload)\\.';
const RATE_LIMIT = 'extensions.filters.http.local_ratelimit.v3.LocalRateLimit';

/**
 * Serves the one page. The path is compared as a whole, with its query, so no other spelling of it or of another page gets
 * through. A page takes the main thread's time, which the readiness of the pod needs: two a second are enough.
 */
export const METRICS_LISTENER: JsonObject = {
  name: 'metrics',
  address: address('0.0.0.0', METRICS_PORT),
  filter_chains: [
    {
      filters: [
        httpFilter(
          'metrics',
          ownRoutes('metrics', [
            {
              match: {
                path: METRICS_PATH,
                headers: [
                  { name: ':path', string_match: { exact: METRICS_PATH } },
                  { name: ':method', string_match: { exact: 'GET' } },
                ],
              },
              route: {
                cluster: 'admin',
                prefix_rewrite: `${METRICS_PATH}?usedonly&filter=${encodeURIComponent(SERVED)}`,
                host_rewrite_literal: 'localhost',
              },
              typed_per_filter_config: {
                rate: {
                  '@type': `type.googleapis.com/envoy.${RATE_LIMIT}`,
                  stat_prefix: 'metrics',
                  token_bucket: { max_tokens: 10, tokens_per_fill: 2, fill_interval: '1s' },
                  filter_enabled: { default_value: { numerator: 100 } },
                  filter_enforced: { default_value: { numerator: 100 } },
                },
              },
            },
          ]),
          [typed('rate', RATE_LIMIT, { stat_prefix: 'metrics' })],
        ),
      ],
    },
  ],
};

/** What the bootstrap has for the metrics beside the listener. */
export const METRICS_BOOTSTRAP: JsonObject = {
  stats_config: {
    histogram_bucket_settings: [
      {
        match: { safe_regex: { regex: '(route|inbound)\\..*' } },
        buckets: [1, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000],
      },
    ],
  },
};
