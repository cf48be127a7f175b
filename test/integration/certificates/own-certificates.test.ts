import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type OperatorFixture, startOperatorFixture } from '../../support/operator/operator-fixture.ts';

let fixture: OperatorFixture;

beforeAll(async () => {
  fixture = await startOperatorFixture({ ownCertificates: true });
});

afterAll(() => fixture?.stop());

async function injects(name: string): Promise<boolean> {
  await fixture.apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', annotations: { 'initializer.kubernetes.io/envoy': 'true' } },
    spec: { containers: [{ name: 'app', image: 'busybox' }] },
  });
  const names = await fixture.kubectl('get', 'pod', name, '-o', 'jsonpath={.spec.containers[*].name}');
  return names === 'app envoy';
}

describe('an operator that is given no certificate', () => {
  test('makes its own, and is ready when the API server trusts it', async () => {
    expect(await injects('first')).toBe(true);
  });

  test('is trusted with templates too, and both its webhook configurations go with its namespace', async () => {
    const patch = '{"data": {"config": "containers: ["}}';
    const change = ['patch', 'configmap', 'envoy-initializer', '--type=merge', '-p', patch];
    await expect(fixture.kubectl(...change, '-n', 'envoy-initializer')).rejects.toThrow(
      /is invalid: data\.config: /,
    );
    for (const kind of ['mutatingwebhookconfiguration', 'validatingwebhookconfiguration']) {
      const owner = ['-o', 'jsonpath={.metadata.ownerReferences[*].kind}'];
      expect(await fixture.kubectl('get', kind, 'envoy-initializer', ...owner)).toBe('Namespace');
    }
  });

  test('serves the same one after a restart', async () => {
    const secret = [
      'get',
      'secret',
      'envoy-initializer-tls',
      '-n',
      'envoy-initializer',
      '-o',
      'jsonpath={.data}',
    ];
    const before = await fixture.kubectl(...secret);
    fixture.operator.process.kill('SIGTERM');
    await fixture.operator.restart();
    expect(await fixture.kubectl(...secret)).toBe(before);
    expect(await injects('second')).toBe(true);
  });
});
