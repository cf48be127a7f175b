import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Subnet } from '../../../../src/networks/api/subnet.ts';
import {
  type ObservedState,
  type Outcome,
  specProblem,
  targetOf,
  updatesOf,
} from '../../../../src/networks/controller/condition-plan.ts';
import type { SpecError } from '../../../../src/networks/providers/provider.ts';

const desired: Subnet = { cidr: '10.1.0.0/16', gateway: '10.1.0.1' };
const other: Subnet = { cidr: '10.2.0.0/16', gateway: '10.2.0.1' };
const overlap: SpecError = { reason: 'Overlap', message: '10.1.0.0/16 overlaps 10.1.2.0/24 of Network x/y' };
const used = { pods: ['default/a'] };
const unused = { pods: [] };
const done: Outcome = { kind: 'ready', change: 'none', capacity: 1 };
const conflict: Outcome = { kind: 'notReady', reason: 'NameConflict', message: 'it exists' };
const unavailable: Outcome = {
  kind: 'notReady',
  reason: 'ProviderUnavailable',
  message: 'no Multus',
  retryAfterMs: 10_000,
};
const failed: Outcome = { kind: 'failed', message: 'boom' };

function observed(given: Partial<ObservedState> = {}): ObservedState {
  return {
    desired,
    current: undefined,
    specError: undefined,
    usage: undefined,
    attachesPods: true,
    ...given,
  };
}

describe('targetOf', () => {
  test.each<[string, Partial<ObservedState>, Subnet | undefined]>([
    ['returns the desired subnet for a new network', {}, desired],
    ['returns the desired subnet if the provider does not count pods', { current: other }, desired],
    ['returns the desired subnet without pods', { current: other, usage: unused }, desired],
    ['returns the current subnet while pods use it', { current: other, usage: used }, other],
    [
      'returns the subnet of a used network that matches the spec',
      { current: desired, usage: used },
      desired,
    ],
    [
      'returns the recorded subnet of a used network that a user deleted',
      { current: other, usage: used },
      other,
    ],
    ['returns nothing for a refused spec of a new network', { specError: overlap }, undefined],
    ['returns the current subnet for a refused change', { current: other, specError: overlap }, other],
  ])('%s', (_, given, expected) => {
    expect(targetOf(observed(given))).toEqual(expected);
  });
});

describe('the conditions', () => {
  type Row = [string, Partial<ObservedState>, Outcome | undefined, string, string, string];
  test.each<Row>([
    ['ready', {}, done, 'True Accepted', 'True Ready', 'False UpToDate'],
    ['refused', { specError: overlap }, undefined, 'False Overlap', 'False Overlap', 'False Overlap'],
    [
      'refused, with the old network',
      { specError: overlap, current: other },
      done,
      'False Overlap',
      'True ChangeRefused',
      'False Overlap',
    ],
    [
      'waiting for a change',
      { current: other, usage: used },
      done,
      'True Accepted',
      'True ChangePending',
      'True InUse',
    ],
    [
      'ready without pods',
      { attachesPods: false },
      done,
      'True Accepted',
      'True ProviderCannotAttach',
      'False UpToDate',
    ],
    [
      'in a cluster range',
      { warning: '10.1.0.0/16 overlaps …' },
      done,
      'True ClusterRange',
      'True Ready',
      'False UpToDate',
    ],
    [
      'blocked by a foreign definition',
      {},
      conflict,
      'True Accepted',
      'False NameConflict',
      'False NameConflict',
    ],
    ['without its backend', {}, unavailable, 'True Accepted', 'False ProviderUnavailable', 'True Retrying'],
    ['failing', {}, failed, 'True Accepted', 'False ReconcileFailed', 'True Retrying'],
    [
      'failing to be restored',
      { specError: overlap, current: other },
      failed,
      'False Overlap',
      'False ReconcileFailed',
      'True Retrying',
    ],
  ])('of a Network that is %s', (_, given, outcome, accepted, ready, progressing) => {
    const verdicts = updatesOf(observed(given), outcome);
    const brief = ({ status, reason }: { status: string; reason: string }) => `${status} ${reason}`;
    expect(brief(verdicts.Accepted)).toBe(accepted);
    expect(brief(verdicts.Ready)).toBe(ready);
    expect(brief(verdicts.Progressing)).toBe(progressing);
  });

  test('name the network to which pods can attach', () => {
    const target = { ...desired, mtu: 1400 };
    const { message } = updatesOf(observed({ desired: target }), done).Ready;
    expect(message).toBe('pods can attach to 10.1.0.0/16, gateway 10.1.0.1, MTU 1400');
  });

  test('name the other Network of an overlap', () => {
    expect(updatesOf(observed({ specError: overlap }), undefined).Ready.message).toBe(overlap.message);
  });

  test('contain the error of a failure', () => {
    expect(updatesOf(observed(), failed).Ready.message).toBe('boom');
  });

  test('name three of the pods that block a change, and count the others', () => {
    const usage = { pods: ['default/d', 'default/b', 'default/a', 'default/c', 'x/y'] };
    const { message } = updatesOf(observed({ current: other, usage }), done).Progressing;
    expect(message).toBe(
      'will change to 10.1.0.0/16, gateway 10.1.0.1 when these pods are gone: default/a, default/b, default/c and 2 more',
    );
  });

  test.each([
    ['Unknown NotCounted', undefined],
    ['False NoPods', unused],
    ['True PodsAttached', used],
  ])('say %s about its pods', (expected, usage) => {
    const { status, reason } = updatesOf(observed({ usage }), done).InUse;
    expect(`${status} ${reason}`).toBe(expected);
  });
});

describe('in each state', () => {
  const shapes = fc.constantFrom<Subnet>(desired, other, { ...desired, mtu: 1400 });
  const situations = fc.record({
    desired: shapes,
    current: fc.option(shapes, { nil: undefined }),
    specError: fc.constantFrom(undefined, overlap),
    usage: fc.constantFrom(undefined, used, unused),
    attachesPods: fc.boolean(),
  });
  const outcomes = fc.constantFrom(done, conflict, unavailable, failed);

  test('a network keeps its subnet while pods use it, or its new spec is refused', () => {
    fc.assert(
      fc.property(situations, (given) => {
        const isKept = given.specError !== undefined || given.usage === used;
        if (given.current && isKept) expect(targetOf(given)).toEqual(given.current);
        else expect(targetOf(given)).toEqual(given.specError ? undefined : given.desired);
      }),
    );
  });

  test('Ready is True exactly if a real network exists', () => {
    fc.assert(
      fc.property(situations, outcomes, (given, attempted) => {
        const outcome = targetOf(given) && attempted;
        const { status, message } = updatesOf(given, outcome).Ready;
        expect(status === 'True').toBe(outcome?.kind === 'ready');
        if (!given.attachesPods) expect(message).not.toContain('pods can attach');
      }),
    );
  });

  test('the same state and outcome give the same conditions', () => {
    fc.assert(
      fc.property(situations, outcomes, (given, outcome) => {
        expect(updatesOf(given, outcome)).toEqual(updatesOf({ ...given }, { ...outcome }));
      }),
    );
  });
});

describe('specProblem', () => {
  test.each([
    ['10.0.0.5/16', '10.0.0.1', 'spec.cidr 10.0.0.5/16 is not a range in canonical form'],
    ['10.0.0.0/31', '10.0.0.1', 'leaves no address for a pod'],
    ['10.0.0.0/16', '10.1.0.1', 'spec.gateway 10.1.0.1 is not inside 10.0.0.0/16'],
    ['10.0.0.0/16', '10.0.255.255', 'spec.gateway 10.0.255.255 is the broadcast address'],
  ])('refuses %s with gateway %s, as the CRD does', (cidr, gateway, message) => {
    expect(specProblem({ cidr, gateway })).toEqual({
      reason: 'Invalid',
      message: expect.stringContaining(message),
    });
  });

  test('accepts all other specs', () => {
    expect(specProblem({ cidr: 'fd00::/64', gateway: 'fd00::1', mtu: 1400 })).toBeUndefined();
  });
});
