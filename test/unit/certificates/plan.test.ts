import { describe, expect, test } from '@jest/globals';
import { plan, type Situation } from '../../../src/certificates/plan.ts';
import type { CertifiedKey } from '../../../src/certificates/x509/certificate.ts';

const DAY = 86_400_000;
const NOW = Date.parse('2026-06-01T00:00:00Z');
const lifetimes = { authorityMs: 360 * DAY, leafMs: 90 * DAY, skewMs: 3_600_000, settleMs: 300_000 };

/** A certificate that was made so many days ago and lives for so many. */
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

describe('what is planned', () => {
  test.each<[string, Given, ReturnType<typeof plan>]>([
    ['nothing is there: everything anew', {}, { do: 'start-over' }],
    [
      'everything has expired: everything anew',
      { leaf: aged(90, 90), issuer: aged(360, 360) },
      { do: 'start-over' },
    ],
    [
      'everything has expired but the next authority: it takes over at once, for there is nothing to lose',
      { leaf: aged(90, 90), issuer: aged(360, 360), next },
      { do: 'promote-authority' },
    ],
    ['no leaf: one is issued', { issuer }, { do: 'issue-leaf' }],
    ['the leaf has expired: one is issued', { leaf: aged(90, 90), issuer }, { do: 'issue-leaf' }],
    ['the leaf lacks a name: one is issued', { leaf, issuer, leafLacksNames: true }, { do: 'issue-leaf' }],
    ['the leaf is two thirds old: one is issued', { leaf: aged(60, 90), issuer }, { do: 'issue-leaf' }],
    [
      'the leaf is younger: nothing, until it is two thirds old',
      { leaf: aged(59, 90), issuer },
      { do: 'wait', until: NOW + DAY },
    ],
    [
      'the leaf is due, but a new one would not outlive it: nothing, until it expires',
      { leaf: aged(80, 90), issuer: aged(350, 360), next },
      { do: 'wait', until: NOW + 10 * DAY },
    ],
    [
      'the authority is two thirds old: another is made known',
      { leaf, issuer: aged(240, 360) },
      { do: 'add-authority' },
    ],
    ['the authority has lost its key: another is made known', { leaf }, { do: 'add-authority' }],
    [
      'the authority has lost its key and a leaf is due: another is made known',
      { leaf: aged(61, 90) },
      { do: 'add-authority' },
    ],
    [
      'the next authority has expired while it waited: another is made known',
      { leaf, issuer: aged(240, 360), next: aged(360, 360) },
      { do: 'add-authority' },
    ],
    [
      'the next authority is not known everywhere: nothing, until the leaf is due',
      { leaf, issuer: aged(250, 360), next },
      { do: 'wait', until: NOW + 50 * DAY },
    ],
    [
      'the next authority is known, but only just: nothing, until API servers must have noticed',
      { leaf, issuer: aged(250, 360), next, distributedForMs: 100_000 },
      { do: 'wait', until: NOW + 200_000 },
    ],
    [
      'the next authority is known for long enough: it takes over',
      { leaf, issuer: aged(250, 360), next, distributedForMs: 300_000 },
      { do: 'promote-authority' },
    ],
    [
      'a leaf is due while the next authority is not known: the old one issues it',
      { leaf: aged(60, 90), issuer: aged(250, 360), next },
      { do: 'issue-leaf' },
    ],
    [
      'a former authority has expired, but perhaps not by every clock: nothing yet',
      { leaf, issuer, bundle: [issuer, aged(360, 360)] },
      { do: 'wait', until: NOW + lifetimes.skewMs },
    ],
    [
      'a former authority has expired by every clock: it is dropped',
      { leaf, issuer, bundle: [issuer, aged(361, 360)] },
      { do: 'drop-expired' },
    ],
  ])('%s', (_, given, expected) => {
    expect(planFor(given)).toEqual(expected);
  });
});
