import { beforeEach, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { certificateKeeper } from '../../../src/certificates/managed-certificates.ts';
import { type KeyMaterial, replacement } from '../../../src/certificates/rotation.ts';
import type { SecretContent, StoredContent } from '../../../src/certificates/secret.ts';
import { ApiError } from '../../../src/kube/api/api-error.ts';
import type { Result } from '../../../src/kube/controller/controller.ts';
import { FakeSigner } from '../../support/certificates/fake-signer.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const signal = new AbortController().signal;
const lifetimes = { authorityMs: 360 * DAY, leafMs: 90 * DAY, skewMs: 0, settleMs: 1_000 };
const start = Date.parse('2026-01-01T00:00:00Z');

let now: number;
let signer: FakeSigner;
let stored: StoredContent | undefined;
let written: { readonly material: KeyMaterial; readonly resourceVersion: string | undefined }[];
let distributed: string[];
let rotated: string[];
let levels: number[];
let lastGood: KeyMaterial | undefined;
let refused: Error | undefined;
let reconcile: () => Promise<Result>;
beforeEach(() => {
  now = start;
  signer = new FakeSigner();
  stored = undefined;
  written = [];
  distributed = [];
  rotated = [];
  levels = [];
  lastGood = undefined;
  refused = undefined;
  const keep = certificateKeeper({
    signer,
    lifetimes,
    wallClock: () => now,
    lastGood: () => lastGood,
    log: pino({ level: 'trace', base: null }, { write: (line) => levels.push(JSON.parse(line).level) }),
    secret: {
      read: async () => stored,
      async replace(material, resourceVersion) {
        written.push({ material, resourceVersion });
      },
    },
    trust: {
      observe: () => [],
      async distribute(_, bundle) {
        if (refused) throw refused;
        if (bundle !== undefined) distributed.push(bundle);
        return { heldForMs: 0, keepsOthers: false };
      },
    },
    metrics: {
      expires() {},
      bundleInSync() {},
      rotated: (certificate) => rotated.push(certificate),
    },
  });
  reconcile = () => keep(signal);
});

function store(content: SecretContent): void {
  stored = { content, resourceVersion: '7' };
}

async function storeOwn(): Promise<KeyMaterial> {
  const material = await replacement(undefined, { signer, lifetimes, now });
  store({ material, damage: [] });
  return material;
}

const forbidden = new ApiError({ status: 403, reason: 'Forbidden', message: 'no' });
const WARN = 40;

describe('the certificate keeper', () => {
  test('distributes the bundle, and requeues within an hour', async () => {
    await storeOwn();
    expect(await reconcile()).toEqual({ requeueAfterMs: HOUR });
    expect(distributed).toEqual(['authority-1\n']);
    expect(written).toEqual([]);
  });

  test('renews a leaf on condition of the resourceVersion', async () => {
    const { issuer, bundle } = await storeOwn();
    now += 60 * DAY;
    await reconcile();
    expect(written).toEqual([
      { resourceVersion: '7', material: expect.objectContaining({ issuer, bundle }) },
    ]);
    expect(written[0]?.material.leaf?.notAfter).toBe(now + 90 * DAY);
    expect(rotated).toEqual(['serving']);
  });

  test('renews the leaf even if a configuration cannot be written, and then rejects', async () => {
    await storeOwn();
    now += 60 * DAY;
    refused = forbidden;
    await expect(reconcile()).rejects.toBe(forbidden);
    expect(written).toHaveLength(1);
  });
});

describe('the certificate keeper with a damaged Secret', () => {
  test('replaces only the damaged part, with a warning', async () => {
    const { issuer, bundle } = await storeOwn();
    store({ material: { issuer, bundle }, damage: ['tls.key: rubbish'] });
    await reconcile();
    expect(written[0]?.material).toMatchObject({ issuer, bundle });
    expect(written[0]?.material.leaf).toBeDefined();
    expect(levels).toContain(WARN);
  });

  test('restores the last undamaged content and adds a next authority if no part is usable', async () => {
    lastGood = await storeOwn();
    store({ material: { bundle: [] }, damage: ['ca.crt: rubbish'] });
    await reconcile();
    expect(distributed).toEqual([]);
    expect(written[0]?.material).toMatchObject({ leaf: lastGood.leaf, issuer: lastGood.issuer });
    expect(written[0]?.material.bundle).toHaveLength(2);
  });
});
