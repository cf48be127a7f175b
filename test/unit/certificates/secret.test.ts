import { beforeAll, expect, test } from '@jest/globals';
import { type KeyMaterial, replacement } from '../../../src/certificates/rotation.ts';
import { OWN_CERTIFICATE, readSecret, secretData } from '../../../src/certificates/secret.ts';
import { pemOf } from '../../../src/certificates/x509/certificate.ts';
import { x509Signer } from '../../../src/certificates/x509/signer.ts';
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
  // With a next authority, so that all five values are present.
  material = await replacement(fresh, context);
});

/** The Secret for the material, with some values replaced; null deletes a value. */
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

test('readSecret returns what was written to the Secret', () => {
  expect(readSecret(secretOf(material))).toEqual({ material, damage: [] });
  expect(readSecret(secretOf(fresh))).toEqual({ material: fresh, damage: [] });
});

test.each([
  ['tls.key', 'gone', null, ['leaf'], ['tls.crt']],
  ['tls.crt', 'rubbish', 'rubbish', ['leaf'], ['tls.crt']],
  ['ca.key', 'gone', null, ['issuer'], ['ca.key']],
  ['next-ca.key', 'rubbish', 'rubbish', ['next'], ['next-ca.key']],
  ['ca.crt', 'gone', null, ['leaf', 'issuer', 'next'], ['ca.crt', 'tls.crt', 'ca.key', 'next-ca.key']],
] as const)(
  'readSecret with %s %s returns no parts that depend on it, says why, and keeps the rest',
  (key, _, text, lost, damaged) => {
    const content = readSecret(secretOf(material, { [key]: text }));
    if ('foreign' in content) throw new Error(content.foreign);
    const { bundle, ...keys } = content.material;
    const missing = Object.entries(keys).flatMap(([name, value]) => (value ? [] : [name]));
    expect(missing).toEqual(lost);
    expect(content.damage.map((line) => line.split(':')[0])).toEqual(damaged);
  },
);

test('readSecret returns no leaf if no authority has signed it', async () => {
  const stranger = await replacement(undefined, context);
  const content = readSecret(
    secretOf(fresh, { 'ca.crt': pemOf(stranger.bundle), 'ca.key': stranger.issuer?.keyPem ?? '' }),
  );
  expect(content).toMatchObject({
    material: { leaf: undefined, issuer: stranger.issuer },
    damage: ['tls.crt: the CA that signed it is not in ca.crt'],
  });
});

test('readSecret does not take a Secret without our mark, or of another client, for ours', async () => {
  const foreign = { foreign: expect.anything() };
  const other = await replacement(undefined, context);
  expect(readSecret(secretOf(fresh, {}, null))).toEqual(foreign);
  expect(readSecret(secretOf(fresh, { 'tls.crt': null, 'tls.key': null }, null))).toEqual(foreign);
  expect(readSecret(secretOf(other, {}, fresh.leaf?.fingerprint))).toEqual(foreign);
});
