import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { NetworkAttachmentDefinition } from '../../../../src/networks/api/resources.ts';
import { NetworkAccess } from '../../../../src/networks/pods/network-access.ts';
import { networkPods, networksOf } from '../../../../src/networks/pods/network-pods.ts';
import { forgedConfig } from '../../../support/network/forged-config.ts';
import { NetworkModel } from '../../../support/network/network-model.ts';

/** `NETWORK_RUNS=10000` for more. */
const RUNS = Number(process.env.NETWORK_RUNS ?? 200);

/** Invariants 2 and 5: what others write changes nothing that node agents read. */

const PODS = networkPods(new NetworkAccess([]));
const KEYS = ['samplecrd.k8s.io/network', 'k8s.v1.cni.cncf.io/networks', 'k8s.v1.cni.cncf.io/network-status'];
const name = fc.constantFrom('victim/blue', 'victim/green', 'tenant/blue', 'blue', '/blue', 'victim/', '*');
const element = fc.record(
  {
    name,
    namespace: fc.constantFrom('victim', 'tenant', ''),
    ips: fc.array(fc.ipV4()),
    default: fc.boolean(),
  },
  { requiredKeys: ['name'] },
);
const annotation = fc.oneof(
  fc.array(name).map((names) => names.join()),
  fc.array(element).map((list) => JSON.stringify(list)),
  fc.json(),
  fc.string(),
);
const annotations = fc.dictionary(fc.constantFrom(...KEYS), annotation);

test('no pod is a user of a Network of another namespace, whatever its annotations say', () => {
  fc.assert(
    fc.property(annotations, (given) => {
      const metadata = { name: 'liar', namespace: 'tenant', annotations: given };
      const networks = networksOf(PODS.decode({ metadata, spec: { nodeName: 'n1' } }));
      expect(networks.filter((key) => !key.startsWith('tenant/'))).toEqual([]);
    }),
  );
});

const SUBNET = { cidr: '10.99.0.0/16', gateway: '10.99.0.1', mtu: 9000 };
const config = fc.oneof(
  fc.string(),
  fc.json(),
  fc.constantFrom(
    forgedConfig('default/a', SUBNET),
    forgedConfig('default/a', SUBNET, 2 ** 23 + 7),
    forgedConfig('other/b', SUBNET, 2 ** 23),
  ),
);
const metadata = fc.record({
  labels: fc.dictionary(fc.string(), fc.string(), { maxKeys: 2 }),
  annotations: fc.dictionary(fc.constantFrom('samplecrd.k8s.io/network-uid', 'a'), fc.string()),
  ownerReferences: fc.array(
    fc.record({
      apiVersion: fc.constantFrom('samplecrd.k8s.io/v1', 'v1'),
      kind: fc.constantFrom('Network', 'Pod'),
      name: fc.constantFrom('a', 'b'),
      uid: fc.string(),
      controller: fc.boolean(),
    }),
    { maxLength: 2 },
  ),
});

test('no definition changes what the status of its Network says to agents, and none takes a node from it', async () => {
  const definition = fc.record({ config, metadata, isDeleted: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(definition, { minLength: 1, maxLength: 4 }), async (written) => {
      const model = new NetworkModel();
      model.known = new Map([['n1', { internalIp: '192.0.2.1', report: undefined }]]);
      model.create({ cidr: '10.20.0.0/24', gateway: '10.20.0.1' });
      await model.reconcile();
      model.pods = ['default/web'];
      model.nodesOfPods = ['n1'];
      await model.reconcile();
      const told = () => {
        const { cidr, gateway, mtu, vni, nodes } = model.network?.status ?? {};
        return { cidr, gateway, mtu, vni, nodes };
      };
      const before = told();
      expect(before).toMatchObject({ cidr: '10.20.0.0/24', nodes: [{ name: 'n1' }] });
      for (const { isDeleted, ...given } of written) {
        if (isDeleted) model.attachments.live.clear();
        else model.attachments.store(theirs(given.config, given.metadata));
        await model.reconcile();
        expect(told()).toEqual(before);
      }
    }),
    { numRuns: RUNS },
  );
});

function theirs(text: string, given: object): NetworkAttachmentDefinition {
  return { metadata: { ...given, namespace: 'default', name: 'a' }, spec: { config: text } };
}
