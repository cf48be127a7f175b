import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Operation } from 'fast-json-patch';
import { CaBundle, trusts } from '../../../src/certificates/ca-bundle.ts';
import { createAuthority, issueCertificate } from '../../../src/certificates/x509/authority.ts';
import { readCertificates } from '../../../src/certificates/x509/certificate.ts';
import {
  MUTATING_WEBHOOK_CONFIGURATIONS,
  type WebhookConfiguration,
} from '../../../src/kube/api/core-resources.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
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
let patches: (readonly Operation[])[];
let clock: FakeClock;
let bundle: CaBundle;
let rollingOut: boolean;
let holdMs: number;
beforeEach(() => {
  cached = undefined;
  patches = [];
  clock = new FakeClock();
  rollingOut = false;
  holdMs = 0;
  bundle = newBundle();
});

const client: Pick<KubeClient, 'jsonPatch'> = {
  jsonPatch: async (resource, _, operations) => {
    patches.push(operations);
    return resource.decode(cached);
  },
};

function newBundle(): CaBundle {
  return new CaBundle({
    clock,
    wallClock: () => Date.now(),
    isRollingOut: async () => rollingOut,
    holdMs,
    client,
  });
}

const observed = () => (cached ? [{ resource: MUTATING_WEBHOOK_CONFIGURATIONS, configuration: cached }] : []);
const distributed = (text: string) => bundle.distribute(observed(), text, signal);
const distribute = async (text: string) => (await distributed(text)).heldForMs;
const written = () =>
  patches
    .flat()
    .flatMap(({ op, path, ...rest }) =>
      op === 'add' && 'value' in rest ? [Buffer.from(String(rest.value), 'base64').toString()] : [],
    );

test('CaBundle patches only webhooks without the bundle, on condition of the resourceVersion', async () => {
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

test('CaBundle restarts the time when the bundle had to be restored', async () => {
  cached = configuration('A');
  await distribute('A');
  clock.advance(1_000);
  cached = configuration(undefined);
  expect(await distribute('A')).toBeUndefined();
  cached = configuration('A');
  expect(await distribute('A')).toBe(0);
});

describe('authorities of others', () => {
  let own: string;
  let other: string;
  let expired: string;
  let served: string;
  beforeAll(async () => {
    const hour = 3_600_000;
    const validity = (from: number, to: number) => ({
      notBefore: new Date(Date.now() + from * hour),
      notAfter: new Date(Date.now() + to * hour),
    });
    // Two of one name.
    const authority = await createAuthority({ commonName: 'authority', ...validity(-1, 1) });
    own = authority.certPem;
    other = (await createAuthority({ commonName: 'authority', ...validity(-1, 1) })).certPem;
    expired = (await createAuthority({ commonName: 'expired', ...validity(-2, -1) })).certPem;
    const request = { commonName: 'webhook', dnsNames: ['a.b.svc'], usage: 'server' } as const;
    served = (await issueCertificate(authority, { ...request, ...validity(-1, 1) })).certPem;
  });

  test('authorities of others stay in the caBundle during a rollout, except expired ones', async () => {
    cached = configuration(`${other}${expired}`);
    rollingOut = true;
    expect(await distributed(own)).toEqual({ heldForMs: undefined, keepsOthers: true });
    expect(written()).toEqual([`${own}${other}`]);
    cached = configuration(`${own}${other}`);
    expect(await distributed(own)).toEqual({ heldForMs: 0, keepsOthers: true });
    expect(patches).toHaveLength(1);
  });

  test('authorities of others go from the caBundle when the rollout is over', async () => {
    cached = configuration(`${own}${other}`);
    expect(await distributed(own)).toEqual({ heldForMs: undefined, keepsOthers: false });
    expect(written()).toEqual([own]);
  });

  test('authorities of others stay for the time that the owner of files asks for, then go', async () => {
    holdMs = 1_000;
    bundle = newBundle();
    cached = configuration(`${own}${other}`);
    expect(await distributed(own)).toMatchObject({ keepsOthers: true });
    clock.advance(1_000);
    expect(await distributed(own)).toMatchObject({ keepsOthers: false });
    expect(written()).toEqual([own]);
  });

  const seen = (...bundles: (string | undefined)[]) => [
    { resource: MUTATING_WEBHOOK_CONFIGURATIONS, configuration: configuration(...bundles) },
  ];

  test('authorities of others are not trusted for our certificate', () => {
    const leaf = readCertificates(served);
    expect(trusts(seen(own, `${other}${own}`), leaf)).toBe(true);
    expect(trusts(seen(served), leaf)).toBe(true);
    expect([other, undefined, 'rubbish'].map((bundle) => trusts(seen(own, bundle), leaf))).toEqual([
      false,
      false,
      false,
    ]);
  });
});
