import { expect, test } from '@jest/globals';
import {
  configurationAge,
  configurationRead,
  isOlder,
} from '../../../../src/injection/envoy/configuration-age.ts';
import { holdsWeights, weightFaults } from '../../../../src/injection/envoy/configuration-faults.ts';
import { keysFor } from '../../../../src/injection/keys.ts';

const keys = keysFor();
const time = (second: number) => `2026-01-01T00:00:0${second}Z`;
const at = (second: number) => Date.parse(time(second));

const configMap = (data: Readonly<Record<string, string>>) => ({
  metadata: {
    name: 'envoy',
    managedFields: [
      { manager: 'kubectl', time: time(3), fieldsV1: { 'f:data': { 'f:envoy.json': {} } } },
      { manager: 'copies', time: time(2), fieldsV1: { 'f:data': {} } },
      { manager: 'labels', time: time(9), fieldsV1: { 'f:metadata': {} } },
    ],
  },
  data,
});

const pod = (startedAt: string | undefined, status: object = {}) => ({
  metadata: {
    name: 'a',
    annotations: {
      [keys.status]: JSON.stringify({
        version: 1,
        templates: [{ name: 'default', sha256: 'a' }],
        added: { containers: ['envoy', 'helper'] },
        ...status,
      }),
    },
  },
  spec: {
    containers: [
      { name: 'app', volumeMounts: [{ name: 'envoy-conf', mountPath: '/app' }] },
      { name: 'envoy', volumeMounts: [{ name: 'envoy-conf', mountPath: '/etc/envoy' }] },
      { name: 'helper' },
    ],
    volumes: [{ name: 'envoy-conf', configMap: { name: 'envoy' } }],
  },
  status: {
    containerStatuses: [
      { name: 'app', state: { running: { startedAt: time(1) } } },
      { name: 'helper', state: { running: { startedAt: time(1) } } },
      { name: 'envoy', state: startedAt === undefined ? { waiting: {} } : { running: { startedAt } } },
    ],
  },
});

test('the configuration of a namespace has the time of the last write of its data, whoever wrote it', () => {
  expect(configurationAge(configMap({ 'envoy.json': '{}' }))).toMatchObject({ changedAt: at(3) });
  expect(configurationAge({ data: {} })).toMatchObject({ changedAt: undefined });
});

test('the configuration of a namespace has a hash of its data alone', () => {
  const hash = configurationAge(configMap({ a: '1', b: '2' })).hash;
  expect(configurationAge({ data: { b: '2', a: '1' } }).hash).toBe(hash);
  expect(configurationAge(configMap({ a: '1' })).hash).not.toBe(hash);
});

const age = configurationAge(configMap({ 'envoy.json': '{}' }));

test('a sidecar is older than its configuration exactly if it started before the change', () => {
  expect(isOlder(configurationRead(pod(time(2)), keys), age)).toBe(true);
  expect(isOlder(configurationRead(pod(time(4)), keys), age)).toBe(false);
});

test('a sidecar that mounts its configuration beside its drain is older, too', () => {
  const given = pod(time(2));
  const sources = [{ configMap: { name: 'envoy' } }, { downwardAPI: { items: [] } }];
  const spec = { ...given.spec, volumes: [{ name: 'envoy-conf', projected: { sources } }] };
  expect(isOlder(configurationRead({ ...given, spec }, keys), age)).toBe(true);
});

test('a sidecar with the hash of a rollout is older by that', () => {
  const noted = (hash: string, startedAt: string) =>
    isOlder(configurationRead(pod(startedAt, { configs: { envoy: hash } }), keys), age);
  expect(noted(age.hash, time(2))).toBe(false);
  expect(noted('another', time(4))).toBe(true);
});

test('a sidecar of which nothing is known is not older than its configuration', () => {
  expect(isOlder(configurationRead(pod(undefined), keys), age)).toBe(false);
  expect(configurationRead({ ...pod(time(2)), metadata: { name: 'a' } }, keys)).toEqual({});
  expect(isOlder({ at: 1 }, { hash: '', changedAt: undefined })).toBe(false);
});

const messagesOf = (data: Readonly<Record<string, string>>) =>
  weightFaults(data).map(({ source, message }) => `${source}: ${message}`);

test.each([
  [{ 'canary.app_v1': '90', 'canary.app_v2': '10' }],
  [{ 'canary.app_v1': '0', 'canary.app_v2': '100\n' }],
])('the weights %j of a canary are valid', (data) => {
  expect(messagesOf(data)).toEqual([]);
});

test.each(['10%', '0.5', '-1', 'ten', '', '1e3'])('the text %j is no weight of a canary', (weight) => {
  expect(messagesOf({ 'canary.app_v1': '0', 'canary.app_v2': weight })).toEqual([
    `canary.app_v2: must be a whole number such as "10", not ${JSON.stringify(weight)}`,
  ]);
});

test('a message cuts a long weight of a canary, and at most twenty faults are returned', () => {
  const data = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`a.x${i}`, 'x'.repeat(10_000)]));
  const messages = messagesOf(data);
  expect(messages).toHaveLength(20);
  expect(Math.max(...messages.map(({ length }) => length))).toBeLessThan(200);
});

test('weights of a canary that are all 0 give one fault per prefix', () => {
  expect(messagesOf({ 'a.x': '0', 'a.y': '0', 'b.x': '0', 'b.y': '1' })).toEqual([
    'a.x: all weights of a are 0, so every request gets 404: give at least one a higher weight',
  ]);
});

test.each([
  [{ 'canary.app_v1': '1' }, true],
  [{ 'canary.app_v1': '1', 'envoy.json': '{}' }, false],
  [{ config: '' }, false],
  [{}, false],
])('a ConfigMap with %j holds weights: %j', (data, expected) => {
  expect(holdsWeights(data)).toBe(expected);
});
