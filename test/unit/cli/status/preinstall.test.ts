import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { OVERLAYS, type PreinstallFacts, preinstallRows } from '../../../../src/cli/status/preinstall.ts';
import { projectDirectory } from '../../../env/control-plane/project-directory.ts';

const READY: PreinstallFacts = {
  server: 'v1.36.3',
  namespace: 'envoy-initializer',
  overlays: ['default'],
  missingRights: { value: [] },
  served: { value: ['cert-manager.io/v1', 'monitoring.coreos.com/v1', 'k8s.cni.cncf.io/v1'] },
  installed: { value: undefined },
  webhooksCall: { value: undefined },
  agentsLevel: { value: undefined },
};

function row(check: string, change: Partial<PreinstallFacts>): string {
  const found = preinstallRows({ ...READY, ...change }).find((each) => each.check === check);
  return `${found?.state}: ${found?.detail} | ${found?.advice ?? ''}`;
}

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
      { webhooksCall: { value: 'mesh-system' } },
      /^problem: in namespace mesh-system: .* \| use --operator-namespace=mesh-system, or uninstall/,
    ],
    ['installed', { webhooksCall: { value: 'envoy-initializer' } }, /^ok: not in namespace/],
    [
      'pod security',
      { overlays: ['networks'], agentsLevel: { value: 'baseline' } },
      /^problem: .* enforces baseline.*kubectl label/,
    ],
    ['pod security', { overlays: ['networks'], agentsLevel: { value: 'privileged' } }, /^ok: /],
    ['multus', { served: { value: [] } }, /^none: /],
    ['cert-manager', { served: { value: [] }, overlays: ['cert-manager'] }, /^problem: .* first$/],
  ])('%s: %j', (check, change, expected) => {
    expect(row(check, change)).toMatch(expected);
  });
});
