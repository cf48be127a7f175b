import { describe, expect, test } from '@jest/globals';
import { bootstrapFaults } from '../../../../src/injection/envoy/configuration-faults.ts';
import { formatInText } from '../../../../src/util/diagnostic.ts';
import { ENVOY_CONFIGURATIONS } from '../../../support/routing/envoy-configurations.ts';

function faultsOf(bootstrap: unknown, key = 'envoy.json'): readonly string[] {
  return bootstrapFaults(key, JSON.stringify(bootstrap, null, 1)).map(({ line: _, column: __, ...fault }) =>
    formatInText({ ...fault, source: '' }).replace(/^: /, ''),
  );
}

function withFilter(filter: unknown) {
  return { static_resources: { listeners: [{ filter_chains: [{ filters: [filter] }] }] } };
}

test.each(Object.entries(ENVOY_CONFIGURATIONS))(
  'finds nothing in %s, which comes with the operator',
  (_, value) => {
    expect(faultsOf(value)).toEqual([]);
  },
);

describe('finds fields of the v2 API, and says what to write', () => {
  const gone = 'belongs to the v2 API, which Envoy removed in 1.18';
  const filter = 'static_resources.listeners[0].filter_chains[0].filters[0]';
  test.each<[string, object, string]>([
    [
      'the config of a filter',
      withFilter({ name: 'envoy.http_connection_manager', config: {} }),
      `${filter}.config: ${gone}: write typed_config, with the v3 type of the filter as its "@type"`,
    ],
    [
      'a type',
      withFilter({ name: 'x', typed_config: { '@type': 'type.googleapis.com/envoy.api.v2.Cluster' } }),
      `${filter}.typed_config["@type"]: type.googleapis.com/envoy.api.v2.Cluster ${gone}: write its v3 type`,
    ],
    [
      'the hosts of a cluster',
      { static_resources: { clusters: [{ name: 'a', hosts: [] }] } },
      `static_resources.clusters[0].hosts: ${gone}: write load_assignment`,
    ],
    [
      'the TLS context of a listener',
      { static_resources: { listeners: [{ filter_chains: [{ tls_context: {} }] }] } },
      `static_resources.listeners[0].filter_chains[0].tls_context: ${gone}: write transport_socket`,
    ],
    [
      'a version of the transport',
      { dynamic_resources: { cds_config: { resource_api_version: 'V2' } } },
      `dynamic_resources.cds_config.resource_api_version: V2 ${gone}: write V3`,
    ],
  ])('%s', (_, bootstrap, fault) => {
    expect(faultsOf(bootstrap)).toContain(fault);
  });

  test('but not fields of the same name in v3', () => {
    expect(faultsOf({ stats_config: { config: {} }, admin: { name: 'x', config: {} } })).toEqual([]);
  });
});

// biome-ignore format: a line for each case
test.each<[string, string, string]>([
  ['text that is not YAML', '{ "admin": ', 'envoy.json:1:12: invalid YAML: unexpected end of the stream within a flow collection'],
  ['a list', '[]', 'envoy.json:1:1: must be an Envoy bootstrap: {"static_resources": …}'],
  ['YAML in a JSON file', 'admin: {}', 'envoy.json: is YAML, but Envoy reads a file with this name as JSON: rename it to .yaml'],
])('refuses %s', (_, text, fault) => {
  expect(bootstrapFaults('envoy.json', text).map(formatInText)).toEqual([fault]);
});
