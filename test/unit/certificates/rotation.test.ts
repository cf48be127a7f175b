import { describe, expect, test } from '@jest/globals';
import { plan, type Situation } from '../../../src/certificates/rotation.ts';
import type { CertifiedKey } from '../../../src/certificates/x509/certificate.ts';

const DAY = 86_400_000;
const NOW = Date.parse('2026-06-01T00:00:00Z');
const lifetimes = { authorityMs: 360 * DAY, leafMs: 90 * DAY, skewMs: 3_600_000, settleMs: 300_000 };

/** A certificate with this age and lifetime, in days. */
function aged(days: number, lifeDays: number, name = 'some'): CertifiedKey {
  const notBefore = NOW - days * DAY;
  return { pem: name, keyPem: name, fingerprint: name, notBefore, notAfter: notBefore + lifeDays * DAY };
}

const leaf = aged(10, 90);
const issuer = aged(100, 360, 'issuer');
const next = aged(1, 360, 'next');

interface Given extends Partial<Omit<Situation, 'material'>>, Partial<Situation['material']> {}

function planFor({ leaf, issuer, next, bundle, ...rest }: Given) {
  const material = { leaf, issuer, next, bundle: bundle ?? [issuer, next].flatMap((key) => key ?? []) };
  return plan({
    material,
    distributedForMs: undefined,
    leafLacksNames: false,
    now: NOW,
    lifetimes,
    ...rest,
  });
}

describe('plan', () => {
  test.each<[string, Given, ReturnType<typeof plan>]>([
    ['no material: starts over', {}, { do: 'start-over' }],
    [
      'all certificates have expired: starts over',
      { leaf: aged(90, 90), issuer: aged(360, 360) },
      { do: 'start-over' },
    ],
    [
      'all but the next authority have expired: promotes it at once',
      { leaf: aged(90, 90), issuer: aged(360, 360), next },
      { do: 'promote-authority' },
    ],
    ['no leaf: issues one', { issuer }, { do: 'issue-leaf' }],
    ['the leaf lacks a name: issues one', { leaf, issuer, leafLacksNames: true }, { do: 'issue-leaf' }],
    [
      'the leaf is at two thirds of its lifetime: issues one',
      { leaf: aged(60, 90), issuer },
      { do: 'issue-leaf' },
    ],
    [
      'the leaf is younger: waits until two thirds of its lifetime',
      { leaf: aged(59, 90), issuer },
      { do: 'wait', until: NOW + DAY },
    ],
    [
      'the leaf is due, but a new one would not outlive it: waits until it expires',
      { leaf: aged(80, 90), issuer: aged(350, 360), next },
      { do: 'wait', until: NOW + 10 * DAY },
    ],
    [
      'the authority is at two thirds of its lifetime: adds another',
      { leaf, issuer: aged(240, 360) },
      { do: 'add-authority' },
    ],
    [
      'the next authority has expired: adds another',
      { leaf, issuer: aged(240, 360), next: aged(360, 360) },
      { do: 'add-authority' },
    ],
    [
      'the next authority was just distributed: waits until API servers must have seen it',
      { leaf, issuer: aged(250, 360), next, distributedForMs: 100_000 },
      { do: 'wait', until: NOW + 200_000 },
    ],
    [
      'the next authority has been distributed for long enough: promotes it',
      { leaf, issuer: aged(250, 360), next, distributedForMs: 300_000 },
      { do: 'promote-authority' },
    ],
    [
      'the leaf is due while the next authority is not distributed: the issuer signs a leaf',
      { leaf: aged(60, 90), issuer: aged(250, 360), next },
      { do: 'issue-leaf' },
    ],
    [
      'a former authority has expired, but not by every clock: waits',
      { leaf, issuer, bundle: [issuer, aged(360, 360)] },
      { do: 'wait', until: NOW + lifetimes.skewMs },
    ],
    [
      'a former authority has expired by every clock: drops it',
      { leaf, issuer, bundle: [issuer, aged(361, 360)] },
      { do: 'drop-expired' },
    ],
  ])('%s', (_, given, expected) => {
    expect(planFor(given)).toEqual(expected);
  });
});
