import { expect, test } from '@jest/globals';
import { checkNetwork, judged, judgeNetwork } from '../../../../src/cli/check/check-network.ts';
import { nameInTarget } from '../../../../src/cli/check/check-target.ts';
import { lastWords } from '../../../../src/cli/last-event.ts';
import { NETWORKS } from '../../../../src/networks/api/resources.ts';
import type { Condition, Network } from '../../../../src/networks/api/types.ts';

const condition = (type: string, status: Condition['status'], reason: string): Condition => ({
  type,
  status,
  reason,
  message: `says ${reason}`,
  lastTransitionTime: '2026-11-01T12:00:00Z',
});

const network = (conditions: readonly Condition[] | undefined, observedGeneration = 2): Network => ({
  metadata: { name: 'net', namespace: 'shop', generation: 2 },
  spec: { cidr: '10.1.0.0/24', gateway: '10.1.0.1' },
  status: {
    observedGeneration,
    ...(conditions && { conditions }),
    provider: 'multus',
    capacity: { total: 253, allocated: 3 },
    nodes: [{ name: 'node-1', address: '192.0.2.1' }],
  },
});

const READY = [condition('Accepted', 'True', 'Accepted'), condition('Ready', 'True', 'Ready')];

test('check has no findings for a Ready Network', () => {
  expect(judgeNetwork(network(READY))).toEqual({
    because: [
      '10.1.0.0/24 (multus), 3 of 253 addresses in use',
      'on the nodes node-1',
      'new pods get an interface on it',
    ],
    findings: [],
  });
});

test('check has a finding for each wrong condition of a Network, with what to do, once', () => {
  const overlap = condition('Accepted', 'False', 'Overlap');
  const { findings } = judgeNetwork(
    network([
      overlap,
      { ...overlap, type: 'Ready' },
      condition('NodesReady', 'False', 'NoAgent'),
      condition('Progressing', 'True', 'Unheard'),
    ]),
  );
  expect(findings).toEqual([
    { reason: 'Overlap', message: 'says Overlap' },
    {
      reason: 'NoAgent',
      message: 'says NoAgent: see envoy-initializer status',
    },
    { reason: 'Unheard', message: 'says Unheard' },
  ]);
});

test('check adds no second advice to a message of a Network that says what to do', () => {
  const message = 'the cluster has no NetworkAttachmentDefinitions (k8s.cni.cncf.io/v1): install Multus';
  const ready = { ...condition('Ready', 'False', 'ProviderUnavailable'), message };
  expect(judgeNetwork(network([ready])).findings).toEqual([{ reason: 'ProviderUnavailable', message }]);
});

test.each([
  [undefined, 2, 'no operator has reconciled it'],
  [READY, 1, 'the operator has not reconciled the last change'],
])('check has a finding for a Network that the operator has not seen', (conditions, observed, message) => {
  expect(judgeNetwork(network(conditions, observed)).findings).toEqual([
    { reason: 'not-reconciled', message: `${message}: see envoy-initializer status` },
  ]);
});

test('check says what is wrong with a Network that it cannot read', async () => {
  const client = { get: async ({ decode }: typeof NETWORKS) => decode({ metadata: { name: 'a' } }) };
  await expect(checkNetwork(client as never, 'shop', 'a')).rejects.toThrow(
    'cannot read network/a (Network.spec: expected an object): correct its spec, or delete it',
  );
});

test.each([
  ['network/a', 'a'],
  ['net/a', 'a'],
  ['Networks/a', 'a'],
  ['networkpolicy/a', undefined],
  ['net/', undefined],
])('check takes %s for the Network %s', (target, name) => {
  expect(nameInTarget(target, NETWORKS, 'net')).toBe(name);
});

test('check says of a Network that cannot be let go what the API server refuses, by its Event if any', async () => {
  const found = network(READY);
  const going = { ...found, metadata: { ...found.metadata, deletionTimestamp: 'now', finalizers: ['a/b'] } };
  const message = 'it is being deleted, and still has the finalizers a/b';
  const event = { metadata: { name: 'e' }, reason: 'RequestRefused', note: 'needs a team', eventTime: 'now' };
  const asked: unknown[] = [];
  const withEvents = (...items: readonly object[]) =>
    ({
      async list(_: unknown, options: unknown) {
        asked.push(options);
        return { items };
      },
    }) as never;
  expect((await judged(withEvents(event), going)).findings).toEqual([
    { reason: 'not-reconciled', message },
    { reason: 'RequestRefused', message: 'needs a team' },
  ]);
  expect(asked).toMatchObject([{ fieldSelector: expect.stringContaining('reason=RequestRefused') }]);
  expect((await judged(withEvents(), going)).findings).toEqual([{ reason: 'not-reconciled', message }]);
  expect((await judged(withEvents(event), found)).findings).toEqual([]);
  expect(await lastWords(withEvents(event), 'shop', 'Pod/a', '7')).toBe('RequestRefused: needs a team');
  expect(asked.at(-1)).toMatchObject({
    fieldSelector:
      'reportingController=envoy-initializer,regarding.kind=Pod,regarding.name=a,regarding.uid=7',
  });
  expect(await lastWords(withEvents(), 'shop', 'Pod/a')).toBe(
    'no Event that you can read says why: see envoy-initializer status',
  );
});
