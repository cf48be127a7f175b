import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Operation } from 'fast-json-patch';
import { CaBundle, holdsBundle } from '../../../src/certificates/ca-bundle.ts';
import {
  MUTATING_WEBHOOK_CONFIGURATIONS,
  type WebhookConfiguration,
} from '../../../src/kube/api/core-resources.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

const signal = new AbortController().signal;
const base64 = (text: string) => Buffer.from(text).toString('base64');

function configuration(...bundles: (string | undefined)[]): WebhookConfiguration {
  return {
    metadata: { name: 'envoy-initializer', resourceVersion: '7' },
    webhooks: bundles.map((bundle, i) => ({
      name: `webhook-${i}`,
      clientConfig: bundle === undefined ? {} : { caBundle: base64(bundle) },
    })),
  };
}

let cached: WebhookConfiguration | undefined;
let synced: boolean;
let patches: (readonly Operation[])[];
let clock: FakeClock;
let bundle: CaBundle;
beforeEach(() => {
  cached = undefined;
  synced = true;
  patches = [];
  clock = new FakeClock();
  const get = () => cached;
  const lister = { get, list: () => [], byIndex: () => [], size: 1 };
  bundle = new CaBundle({
    clock,
    targets: [
      {
        resource: MUTATING_WEBHOOK_CONFIGURATIONS,
        name: 'envoy-initializer',
        informer: { hasSynced: () => synced, lister },
      },
    ],
    client: {
      jsonPatch: async (resource, _, operations) => {
        patches.push(operations);
        return resource.decode(cached);
      },
    },
  });
});

const distribute = (text: string) => bundle.distribute(bundle.observe() ?? [], text, signal);

describe('CaBundle', () => {
  test('patches only webhooks without the bundle, on condition of the resourceVersion', async () => {
    cached = configuration('A', undefined, 'B');
    expect(await distribute('A')).toBeUndefined();
    expect(patches).toEqual([
      [
        { op: 'replace', path: '/metadata/resourceVersion', value: '7' },
        { op: 'add', path: '/webhooks/1/clientConfig/caBundle', value: base64('A') },
        { op: 'add', path: '/webhooks/2/clientConfig/caBundle', value: base64('A') },
      ],
    ]);
  });

  test('does not patch webhooks that have the bundle', async () => {
    cached = configuration('A', 'A');
    expect(await distribute('A')).toBe(0);
    expect(patches).toEqual([]);
  });

  test('returns the time since all configurations have the bundle', async () => {
    cached = configuration('A');
    await distribute('A');
    clock.advance(1_000);
    expect(await distribute('A')).toBe(1_000);
  });

  test('restarts the time when the bundle changes', async () => {
    cached = configuration('A');
    await distribute('A');
    clock.advance(1_000);
    cached = configuration('B');
    expect(await distribute('B')).toBe(0);
  });

  test('restarts the time when the bundle had to be restored', async () => {
    cached = configuration('A');
    await distribute('A');
    clock.advance(1_000);
    cached = configuration(undefined);
    expect(await distribute('A')).toBeUndefined();
    cached = configuration('A');
    expect(await distribute('A')).toBe(0);
  });

  test('needs no bundle in configurations that do not exist', async () => {
    expect(bundle.observe()).toEqual([]);
    expect(await distribute('A')).toBe(0);
    expect(holdsBundle([], 'A')).toBe(true);
  });

  test('observes nothing until the caches are synced', () => {
    synced = false;
    expect(bundle.observe()).toBeUndefined();
  });

  test('is in sync only if every webhook has the bundle', () => {
    const resource = MUTATING_WEBHOOK_CONFIGURATIONS;
    const seen = (...bundles: string[]) => [{ resource, configuration: configuration(...bundles) }];
    expect(holdsBundle(seen('A', 'A'), 'A')).toBe(true);
    expect(holdsBundle(seen('A', 'AB'), 'A')).toBe(false);
  });
});
