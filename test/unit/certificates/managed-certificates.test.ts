import { beforeEach, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { keyPairSource } from '../../../src/certificates/key-pair-source.ts';
import { certificateKeeper } from '../../../src/certificates/managed-certificates.ts';
import { type KeyMaterial, replacement } from '../../../src/certificates/rotation.ts';
import {
  OWN_CERTIFICATE,
  type SecretContent,
  type StoredContent,
  secretData,
} from '../../../src/certificates/secret.ts';
import type { Certificate } from '../../../src/certificates/x509/certificate.ts';
import { x509Signer } from '../../../src/certificates/x509/signer.ts';
import type { KeyPair } from '../../../src/kube/admission/server.ts';
import { ApiError } from '../../../src/kube/api/api-error.ts';
import type { Result } from '../../../src/kube/controller/controller.ts';
import { FakeSigner } from '../../support/certificates/fake-signer.ts';

const DAY = 86_400_000;
const signal = new AbortController().signal;
const signer = x509Signer({ dnsNames: ['envoy-initializer.mesh.svc'], ipAddresses: [] });
const lifetimes = { authorityMs: 360 * DAY, leafMs: 90 * DAY, skewMs: 0, settleMs: 0 };
const start = Date.parse('2026-01-01T00:00:00Z');

let now: number;
let version: number;
let handed: KeyPair[];
let made: KeyMaterial[];
let expiries: Record<string, number>;
let log: { readonly level: number; readonly msg: string }[];
let refuse: boolean;
let source: ReturnType<typeof keyPairSource>;
beforeEach(() => {
  now = start;
  version = 0;
  handed = [];
  made = [];
  expiries = {};
  log = [];
  refuse = false;
  source = keyPairSource({
    secret: {
      namespace: 'mesh',
      name: 'envoy-initializer-tls',
      async create(material) {
        made.push(material);
        return true;
      },
    },
    signer,
    lifetimes,
    wallClock: () => now,
    onKeyPair(pair) {
      if (refuse) throw new Error('the server does not take it');
      handed.push(pair);
    },
    log: pino({ base: null }, { write: (line) => log.push(JSON.parse(line)) }),
    metrics: {
      expires(certificate, at) {
        expiries[certificate] = at;
      },
      bundleInSync() {},
      rotated() {},
    },
  });
});

const make = () => replacement(undefined, { signer, lifetimes, now });
const names = (certificates: readonly (Certificate | undefined)[] = []) =>
  certificates.map((certificate) => certificate?.fingerprint);
const warnings = () => log.filter(({ level }) => level === 40).map(({ msg }) => msg);

/** Delivers a Secret with this content. */
async function see(material: KeyMaterial, { mark = material.leaf?.fingerprint, broken = {} } = {}) {
  version += 1;
  const metadata = {
    name: 'envoy-initializer-tls',
    resourceVersion: String(version),
    ...(mark && { annotations: { [OWN_CERTIFICATE]: mark } }),
  };
  const values = Object.entries({ ...secretData(material), ...broken });
  const data = Object.fromEntries(values.flatMap(([key, value]) => (value === null ? [] : [[key, value]])));
  await source.reconcile({ metadata, data }, signal);
}

const gone = () => source.reconcile(undefined, signal);

test('keyPairSource creates certificates if the Secret does not exist, and serves them once it sees them', async () => {
  await gone();
  expect(made).toHaveLength(1);
  expect(made[0]?.next).toBeUndefined();
  expect(names(made[0]?.bundle)).toEqual(names([made[0]?.issuer]));
  expect(source.serving()).toBeUndefined();
});

test('keyPairSource passes on a key pair again that the server rejected', async () => {
  const material = await make();
  refuse = true;
  await expect(see(material)).rejects.toThrow('does not take it');
  expect(source.serving()).toBeUndefined();
  refuse = false;
  version -= 1;
  await see(material);
  expect(handed).toHaveLength(1);
});

test('keyPairSource keeps the key pair when the Secret is damaged, and warns once', async () => {
  const material = await make();
  await see(material);
  await see(material, { broken: { 'tls.key': '' } });
  version -= 1;
  await see(material, { broken: { 'tls.key': '' } });
  expect(handed).toHaveLength(1);
  expect(warnings()).toEqual(['certificates in the Secret are damaged']);
  expect(source.lastGood()?.leaf).toEqual(material.leaf);
});

test('keyPairSource restores a deleted Secret with the served certificate and a next authority', async () => {
  const material = await make();
  await see(material);
  await gone();
  expect(made[0]).toMatchObject({ leaf: material.leaf, issuer: material.issuer });
  expect(names(made[0]?.bundle)).toEqual(names([material.issuer, made[0]?.next]));
});

test('keyPairSource starts over if the served certificate has expired', async () => {
  const material = await make();
  await see(material);
  now += 91 * DAY;
  await gone();
  expect(made[0]?.bundle).toHaveLength(1);
  expect(made[0]?.issuer).not.toEqual(material.issuer);
});

const HOUR = 3_600_000;
const settling = { ...lifetimes, settleMs: 1_000 };
let fakeSigner: FakeSigner;
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
  fakeSigner = new FakeSigner();
  stored = undefined;
  written = [];
  distributed = [];
  rotated = [];
  levels = [];
  lastGood = undefined;
  refused = undefined;
  const keep = certificateKeeper({
    signer: fakeSigner,
    lifetimes: settling,
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
  const material = await replacement(undefined, { signer: fakeSigner, lifetimes: settling, now });
  store({ material, damage: [] });
  return material;
}

const forbidden = new ApiError({ status: 403, reason: 'Forbidden', message: 'no' });
const WARN = 40;

test('the certificate keeper distributes the bundle, and requeues within an hour', async () => {
  await storeOwn();
  expect(await reconcile()).toEqual({ requeueAfterMs: HOUR });
  expect(distributed).toEqual(['authority-1\n']);
  expect(written).toEqual([]);
});

test('the certificate keeper renews a leaf on condition of the resourceVersion', async () => {
  const { issuer, bundle } = await storeOwn();
  now += 60 * DAY;
  await reconcile();
  expect(written).toEqual([{ resourceVersion: '7', material: expect.objectContaining({ issuer, bundle }) }]);
  expect(written[0]?.material.leaf?.notAfter).toBe(now + 90 * DAY);
  expect(rotated).toEqual(['serving']);
});

test('the certificate keeper renews the leaf even if a configuration cannot be written, and then rejects', async () => {
  await storeOwn();
  now += 60 * DAY;
  refused = forbidden;
  await expect(reconcile()).rejects.toBe(forbidden);
  expect(written).toHaveLength(1);
});

test('the certificate keeper with a damaged Secret replaces only the damaged part, with a warning', async () => {
  const { issuer, bundle } = await storeOwn();
  store({ material: { issuer, bundle }, damage: ['tls.key: rubbish'] });
  await reconcile();
  expect(written[0]?.material).toMatchObject({ issuer, bundle });
  expect(written[0]?.material.leaf).toBeDefined();
  expect(levels).toContain(WARN);
});

test('the certificate keeper restores the last undamaged Secret if no part is usable', async () => {
  lastGood = await storeOwn();
  store({ material: { bundle: [] }, damage: ['ca.crt: rubbish'] });
  await reconcile();
  expect(distributed).toEqual([]);
  expect(written[0]?.material).toMatchObject({ leaf: lastGood.leaf, issuer: lastGood.issuer });
  expect(written[0]?.material.bundle).toHaveLength(2);
});
