import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import {
  OVERLAYS,
  type PreinstallFacts,
  preinstallRows,
} from '../../../../src/cli/status/preinstall-rows.ts';
import type { JsonObject } from '../../../../src/util/json.ts';
import { projectDirectory } from '../../../env/control-plane/project-directory.ts';
import { OPT_IN } from '../../../support/injection/demo.ts';

const ALL = { attachments: true, httpRoutes: true, certificates: true, podMonitors: true };
const NO_ROUTES = { value: { ...ALL, httpRoutes: false } };

const READY: PreinstallFacts = {
  server: 'v1.36.3',
  namespace: 'envoy-initializer',
  overlays: ['default'],
  key: OPT_IN,
  missingRights: { value: [] },
  served: { value: ALL },
  installed: { value: undefined },
  webhooks: { value: [] },
  agentsLevel: { value: undefined },
};

function row(check: string, change: Partial<PreinstallFacts>): string {
  const found = preinstallRows({ ...READY, ...change }).find((each) => each.check === check);
  return `${found?.state}: ${found?.detail} | ${found?.advice ?? ''}`;
}

const webhook = (change: JsonObject, name = 'other'): JsonObject => ({
  metadata: { name },
  webhooks: [
    {
      name: 'inject.example.com',
      rules: [{ apiGroups: [''], resources: ['pods'], operations: ['CREATE'] }],
      ...change,
    },
  ],
});

const ofNamespace = (namespace: string) =>
  webhook({ clientConfig: { service: { namespace } } }, 'envoy-initializer');

test('the overlays are those of deploy/overlays that users install', () => {
  const folders = readdirSync(join(projectDirectory(), 'deploy/overlays'));
  // `dev` is for an operator outside the cluster, and `node-agent` a part of `networks`. `monitoring` is only a component.
  const names = folders.filter((name) => name !== 'dev' && name !== 'node-agent');
  expect([...names, 'monitoring'].sort()).toEqual([...OVERLAYS].sort());
});

describe('check --pre', () => {
  test('finds nothing in a cluster that is ready', () => {
    expect(preinstallRows(READY).filter(({ state }) => state !== 'ok')).toEqual([]);
  });

  test.each<[string, Partial<PreinstallFacts>, RegExp]>([
    ['server', { server: 'v1.28.0' }, /^problem: /],
    [
      'rights',
      { missingRights: { value: ['create clusterroles'] } },
      /^problem: you may not create clusterroles \| .*cluster-admin$/,
    ],
    ['rights', { missingRights: { unreadable: 'no' } }, /^unknown: no/],
    [
      'installed',
      { installed: { value: 'envoy-initializer:0.0.1' } },
      /^note: envoy-initializer:0.0.1 is in/,
    ],
    [
      'installed',
      { webhooks: { value: [ofNamespace('mesh-system')] } },
      /^problem: in namespace mesh-system: .* \| use --operator-namespace=mesh-system, or uninstall/,
    ],
    ['installed', { webhooks: { value: [ofNamespace('envoy-initializer')] } }, /^ok: not in namespace/],
    ['policies', { server: 'v1.35.0' }, /^note: Kubernetes 1.36 has them/],
    ['policies', { overlays: ['without-policies'] }, /^none: /],
    [
      'pod security',
      { overlays: ['networks'], agentsLevel: { value: 'baseline' } },
      /^problem: .* enforces baseline.*kubectl label/,
    ],
    ['pod security', { overlays: ['networks'], agentsLevel: { value: 'privileged' } }, /^ok: /],
    ['gateway api', { served: NO_ROUTES }, /^none: .*the overlay gateway-api adds them/],
    ['gateway api', { served: NO_ROUTES, overlays: ['gateway-api'] }, /^ok: the overlay gateway-api adds/],
    ['gateway api', { overlays: ['gateway-api'] }, /^note: .*leave out the overlay gateway-api/],
  ])('%s: %j', (check, change, expected) => {
    expect(row(check, change)).toMatch(expected);
  });

  test.each([
    ['cert-manager', 'cert-manager', 'certificates'],
    ['prometheus operator', 'monitoring', 'podMonitors'],
    ['multus', 'networks', 'attachments'],
  ] as const)('%s is only needed by the overlay %s', (check, overlay, kind) => {
    const served = { value: { ...ALL, [kind]: false } };
    expect(row(check, { served })).toMatch(/^none: /);
    expect(row(check, { served, overlays: [overlay] })).toMatch(/^problem: .* first$/);
  });

  test.each<[string, JsonObject, boolean]>([
    ['of all pods', {}, true],
    [
      'of other resources',
      { rules: [{ apiGroups: [''], resources: ['secrets'], operations: ['*'] }] },
      false,
    ],
    [
      'of namespaces with its own label',
      { namespaceSelector: { matchLabels: { 'istio-injection': 'enabled' } } },
      false,
    ],
    ['of pods with its own label', { objectSelector: { matchLabels: { inject: 'yes' } } }, false],
    [
      'of namespaces without a label',
      { namespaceSelector: { matchExpressions: [{ key: 'x', operator: 'DoesNotExist' }] } },
      true,
    ],
  ])('names another webhook %s if it gets the same pods', (_, change, isNamed) => {
    expect(row('other injectors', { webhooks: { value: [webhook(change)] } })).toMatch(
      isNamed ? /^note: inject.example.com also get/ : /^ok: /,
    );
    expect(row('other injectors', { webhooks: { value: [webhook(change, 'envoy-initializer')] } })).toMatch(
      /^ok: /,
    );
  });
});
