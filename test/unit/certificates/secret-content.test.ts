import { beforeAll, describe, expect, test } from '@jest/globals';
import { OWN_CERTIFICATE } from '../../../src/certificates/names.ts';
import { replacement } from '../../../src/certificates/renewal.ts';
import { readSecret, secretData } from '../../../src/certificates/secret-content.ts';
import { bundlePem, type KeyMaterial } from '../../../src/certificates/x509/key-material.ts';
import { x509Signer } from '../../../src/certificates/x509/x509-signer.ts';
import type { Secret } from '../../../src/kube/api/core-resources.ts';

const context = {
  signer: x509Signer({ dnsNames: ['envoy-initializer.mesh.svc'], ipAddresses: [] }),
  lifetimes: { authorityMs: 360_000, leafMs: 90_000, skewMs: 1_000, settleMs: 1_000 },
  now: Date.parse('2026-01-01T00:00:00Z'),
};

let fresh: KeyMaterial;
let material: KeyMaterial;
beforeAll(async () => {
  fresh = await replacement(undefined, context);
  // With an authority on its way: all five values are there.
  material = await replacement(fresh, context);
});

/** The Secret that is written for the material, with values of the test's own, which null takes away. */
function secretOf(
  own: KeyMaterial,
  values: Record<string, string | null> = {},
  mark?: string | null,
): Secret {
  const encoded = Object.entries(values).map(([key, text]) => [
    key,
    text === null ? null : Buffer.from(text).toString('base64'),
  ]);
  const data = { ...secretData(own), ...Object.fromEntries(encoded) };
  const annotation = mark === undefined ? own.leaf?.fingerprint : mark;
  return {
    metadata: {
      name: 'envoy-initializer-tls',
      ...(annotation != null && { annotations: { [OWN_CERTIFICATE]: annotation } }),
    },
    data: Object.fromEntries(
      Object.entries(data).filter(([, value]) => value !== null),
    ) as Secret['data'] & {},
  };
}

describe('our own Secret', () => {
  test('is read as it was written', () => {
    expect(readSecret(secretOf(material))).toEqual({ kind: 'own', material, damage: [] });
    expect(readSecret(secretOf(fresh))).toEqual({ kind: 'own', material: fresh, damage: [] });
  });

  test.each([
    ['tls.key', 'gone', null, ['leaf'], ['tls.crt']],
    ['tls.key', 'rubbish', 'rubbish', ['leaf'], ['tls.crt']],
    ['tls.crt', 'rubbish', 'rubbish', ['leaf'], ['tls.crt']],
    ['ca.key', 'gone', null, ['issuer'], ['ca.key']],
    ['next-ca.key', 'rubbish', 'rubbish', ['next'], ['next-ca.key']],
    ['ca.crt', 'gone', null, ['leaf', 'issuer', 'next'], ['ca.crt', 'tls.crt', 'ca.key', 'next-ca.key']],
  ] as const)(
    'with %s %s lacks what depends on it, says why, and keeps the rest',
    (key, _, text, lost, damaged) => {
      const content = readSecret(secretOf(material, { [key]: text }));
      if (content.kind !== 'own') throw new Error(content.kind);
      const { bundle, ...keys } = content.material;
      const missing = Object.entries(keys).flatMap(([name, value]) => (value ? [] : [name]));
      expect(missing).toEqual(lost);
      expect(content.damage.map((line) => line.split(':')[0])).toEqual(damaged);
    },
  );

  test('no longer has a leaf when its authorities are others', async () => {
    const stranger = await replacement(undefined, context);
    const content = readSecret(
      secretOf(fresh, { 'ca.crt': bundlePem(stranger), 'ca.key': stranger.issuer?.keyPem ?? '' }),
    );
    expect(content).toMatchObject({
      kind: 'own',
      material: { leaf: undefined, issuer: stranger.issuer },
      damage: ['tls.crt: expected the authority that has signed tls.crt'],
    });
  });
});

describe("somebody else's Secret", () => {
  test('is used with its authority when it does not bear our mark', () => {
    expect(readSecret(secretOf(fresh, {}, null))).toEqual({
      kind: 'provided',
      leaf: fresh.leaf,
      bundle: bundlePem(fresh),
    });
  });

  test('is used when it has been put in the place of ours, our mark still on it', async () => {
    const other = await replacement(undefined, context);
    expect(readSecret(secretOf(other, {}, fresh.leaf?.fingerprint))).toMatchObject({
      kind: 'provided',
      leaf: other.leaf,
    });
  });

  test('is used without an authority', () => {
    expect(readSecret(secretOf(fresh, { 'ca.crt': null }, null))).toEqual({
      kind: 'provided',
      leaf: fresh.leaf,
      bundle: undefined,
    });
  });

  test('is used when it is its own authority', () => {
    const self = { 'tls.crt': fresh.issuer?.pem ?? '', 'tls.key': fresh.issuer?.keyPem ?? '' };
    expect(readSecret(secretOf(fresh, self, null))).toMatchObject({ kind: 'provided' });
  });

  test.each([
    [
      'is empty',
      { 'tls.crt': null, 'tls.key': null },
      'tls.crt and tls.key: expected PEM certificates, got none',
    ],
    ['has rubbish for an authority', { 'ca.crt': 'rubbish' }, 'ca.crt: expected PEM certificates, got none'],
  ])('is of no use when it %s', (_, values, problem) => {
    expect(readSecret(secretOf(fresh, values, null))).toEqual({ kind: 'unusable', problem });
  });

  test('is of no use when its authority is not that of its certificate: no API server would trust us', async () => {
    const other = await replacement(undefined, context);
    expect(readSecret(secretOf(fresh, { 'ca.crt': bundlePem(other) }, null))).toEqual({
      kind: 'unusable',
      problem: 'ca.crt: expected the authority that has signed tls.crt',
    });
  });
});
