import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { NETWORK_FINALIZER } from '../../../../src/network/api/names.ts';
import { overlaps } from '../../../../src/network/ipam/cidr.ts';
import { RangeClaims } from '../../../../src/network/ipam/range-claims.ts';
import { type NetworkOptions, newNetwork } from '../networks.ts';
import { range } from '../ranges.ts';

/** Claims, and a way to write Networks into them by name. */
function newClaims() {
  const freed: string[] = [];
  const claims = new RangeClaims((key) => freed.push(key));
  const observe = (name: string, cidr: string, options: NetworkOptions = {}, isEligible = true) =>
    claims.observe(newNetwork({ name, cidr, ...options }), isEligible);
  const claim = (name: string) => {
    const blocker = claims.claim(`default/${name}`);
    if (blocker && 'of' in blocker) throw new Error(`expected a Network, got ${blocker.of}`);
    return blocker;
  };
  const forget = (name: string, uid = `uid-of-${name}`) => claims.forget(`default/${name}`, uid);
  return { claims, observe, claim, forget, freed };
}

const held: NetworkOptions = { finalizers: [NETWORK_FINALIZER] };

describe('a free range', () => {
  test('goes to the Network that asks for it', () => {
    const { observe, claim } = newClaims();
    observe('a', '10.0.0.0/16');
    expect(claim('a')).toBeUndefined();
  });

  test('goes to Networks apart from each other at once', () => {
    const { observe, claim } = newClaims();
    observe('a', '10.0.0.0/16');
    observe('b', '10.1.0.0/16');
    expect([claim('a'), claim('b')]).toEqual([undefined, undefined]);
  });

  test('goes to the older of two that want it, whichever asks first', () => {
    const { observe, claim } = newClaims();
    observe('young', '10.0.0.0/16', { createdAt: '2026-01-01T00:00:02Z' });
    observe('old', '10.0.1.0/24', { createdAt: '2026-01-01T00:00:01Z' });
    expect(claim('young')).toEqual({ key: 'default/old', cidr: '10.0.1.0/24' });
    expect(claim('old')).toBeUndefined();
  });

  test('goes to the smaller UID among those of the same age', () => {
    const { observe, claim } = newClaims();
    observe('a', '10.0.0.0/16', { uid: '2' });
    observe('b', '10.0.0.0/16', { uid: '1' });
    expect(claim('a')).toEqual({ key: 'default/b', cidr: '10.0.0.0/16' });
    expect(claim('b')).toBeUndefined();
  });

  test('does not wait for an older Network that cannot have it itself', () => {
    const { observe, claim, freed } = newClaims();
    observe('holder', '10.0.0.0/24', held);
    observe('old', '10.0.0.0/16', { createdAt: '2025-01-01T00:00:00Z' });
    observe('young', '10.0.9.0/24');
    expect(claim('young')).toEqual({ key: 'default/old', cidr: '10.0.0.0/16' });
    expect(claim('old')).toEqual({ key: 'default/holder', cidr: '10.0.0.0/24' });
    expect(freed).toEqual(['default/young']);
    expect(claim('young')).toBeUndefined();
  });

  test('does not wait for an older Network that is invalid or being deleted', () => {
    const { observe, claim } = newClaims();
    observe('old', '10.0.0.0/16', { createdAt: '2025-01-01T00:00:00Z' }, false);
    observe('young', '10.0.0.0/16');
    expect(claim('young')).toBeUndefined();
  });
});

describe('a range that is held', () => {
  test('stays with its holder, however young', () => {
    const { observe, claim } = newClaims();
    observe('young', '10.0.0.0/16', { createdAt: '2026-02-02T00:00:00Z' });
    claim('young');
    observe('old', '10.0.0.0/16', { createdAt: '2025-01-01T00:00:00Z' });
    expect(claim('old')).toEqual({ key: 'default/young', cidr: '10.0.0.0/16' });
    expect(claim('young')).toBeUndefined();
  });

  test('is known after a restart by the finalizer, as the status has it and else the spec', () => {
    const { observe, claim } = newClaims();
    observe('a', '10.5.0.0/16', { ...held, status: { cidr: '10.0.0.0/16' } });
    observe('b', '10.1.0.0/16', held);
    observe('c', '10.0.0.0/24');
    observe('d', '10.1.0.0/24');
    expect(claim('c')).toEqual({ key: 'default/a', cidr: '10.0.0.0/16' });
    expect(claim('d')).toEqual({ key: 'default/b', cidr: '10.1.0.0/16' });
  });

  test('is known to a process that watched another one give it', () => {
    const { observe, claim } = newClaims();
    observe('old', '10.0.0.0/16', { createdAt: '2025-01-01T00:00:00Z' });
    observe('young', '10.0.0.0/16');
    observe('young', '10.0.0.0/16', held);
    expect(claim('old')).toEqual({ key: 'default/young', cidr: '10.0.0.0/16' });
  });

  test('is not given up for a copy that is older than what this process did', () => {
    const { observe, claim } = newClaims();
    observe('a', '10.0.0.0/16');
    claim('a');
    observe('a', '10.0.0.0/16');
    observe('b', '10.0.0.0/16', { createdAt: '2025-01-01T00:00:00Z' });
    expect(claim('b')?.key).toBe('default/a');
  });

  test('is not taken from its holder by an edit of that Network, nor by one of another', () => {
    const { observe, claim } = newClaims();
    observe('a', '10.0.0.0/16', held);
    observe('b', '10.1.0.0/16', held);
    observe('a', '10.1.0.0/16', held);
    expect(claim('a')).toEqual({ key: 'default/b', cidr: '10.1.0.0/16' });
    observe('c', '10.0.0.0/16');
    expect(claim('c')).toEqual({ key: 'default/a', cidr: '10.0.0.0/16' });
  });

  test('is free, and the losers are told, once its Network has been changed', () => {
    const { claims, observe, claim, freed } = newClaims();
    observe('a', '10.0.0.0/16', held);
    observe('b', '10.0.0.0/16');
    claim('b');
    observe('a', '10.1.0.0/16', held);
    claim('a');
    freed.length = 0;
    expect(claim('b')).toEqual({ key: 'default/a', cidr: '10.0.0.0/16' });
    claims.settle('default/a', '10.1.0.0/16');
    expect(freed).toEqual(['default/b']);
    expect(claim('b')).toBeUndefined();
  });

  test('is kept beside the one that the Network is to change to', () => {
    const { claims, observe, claim } = newClaims();
    observe('a', '10.0.0.0/16', held);
    observe('a', '10.1.0.0/16', held);
    claim('a');
    claims.settle('default/a', '10.0.0.0/16');
    observe('b', '10.0.0.0/16');
    observe('c', '10.1.0.0/16');
    expect(claim('b')?.key).toBe('default/a');
    expect(claim('c')?.key).toBe('default/a');
  });

  test('is free, and the losers are told, once its Network is gone', () => {
    const { observe, claim, forget, freed } = newClaims();
    observe('a', '10.0.0.0/16', held);
    observe('b', '10.0.0.0/16');
    claim('b');
    forget('a');
    expect(freed).toEqual(['default/b']);
    expect(claim('b')).toBeUndefined();
  });

  test('is not given up by the late news that an earlier Network of the name is gone', () => {
    const { observe, claim, forget } = newClaims();
    observe('a', '10.0.0.0/16', { uid: 'new' });
    claim('a');
    forget('a', 'old');
    observe('b', '10.0.0.0/16');
    expect(claim('b')?.key).toBe('default/a');
  });

  test('is free when a Network of the name was made anew', () => {
    const { observe, claim } = newClaims();
    observe('a', '10.0.0.0/16', { ...held, uid: 'old' });
    observe('a', '10.9.0.0/16', { uid: 'new' });
    observe('b', '10.0.0.0/16');
    expect(claim('b')).toBeUndefined();
  });

  test('keeps naming the same holder of several', () => {
    const { observe, claim } = newClaims();
    observe('a', '10.0.0.0/24', { ...held, uid: '2' });
    observe('loser', '10.0.0.0/16');
    expect(claim('loser')?.key).toBe('default/a');
    observe('b', '10.0.1.0/24', { ...held, uid: '1' });
    expect(claim('loser')?.key).toBe('default/a');
  });
});

test('losers are told once, not at every look', () => {
  const { observe, claim, freed } = newClaims();
  observe('holder', '10.0.0.0/16');
  claim('holder');
  for (const name of ['a', 'b', 'c']) observe(name, '10.0.0.0/16');
  for (let round = 0; round < 3; round++) for (const name of ['a', 'b', 'c', 'holder']) claim(name);
  expect(freed).toEqual([]);
});

test('losers to a holder whose own change is refused are told of that once', () => {
  const { observe, claim, freed } = newClaims();
  observe('other', '10.1.0.0/16', held);
  observe('holder', '10.0.0.0/16', held);
  observe('loser', '10.0.0.0/16');
  claim('loser');
  observe('holder', '10.1.0.0/16', held);
  for (let round = 0; round < 3; round++) for (const name of ['holder', 'loser']) claim(name);
  expect(freed.filter((key) => key === 'default/loser').length).toBeLessThanOrEqual(2);
  expect(claim('loser')?.key).toBe('default/holder');
});

test('whatever comes and goes, no two Networks ever hold ranges that overlap', () => {
  const names = ['a', 'b', 'c', 'd'];
  const cidrs = ['10.0.0.0/24', '10.0.0.0/25', '10.0.0.128/25', '10.0.1.0/24', '10.0.0.0/23'];
  const step = fc.record({
    name: fc.constantFrom(...names),
    cidr: fc.constantFrom(...cidrs),
    what: fc.constantFrom('edit', 'claim', 'claim', 'settle', 'forget'),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const { claims, observe, claim, forget } = newClaims();
      const given = new Map<string, Set<string>>();
      const wanted = new Map<string, string>();
      for (const { name, cidr, what } of steps) {
        if (what === 'edit') {
          observe(name, cidr);
          wanted.set(name, cidr);
        }
        const wants = wanted.get(name);
        if (what === 'claim' && wants && !claim(name))
          given.set(name, (given.get(name) ?? new Set()).add(wants));
        if (what === 'settle' && wants && given.get(name)?.has(wants)) {
          claims.settle(`default/${name}`, wants);
          given.set(name, new Set([wants]));
        }
        if (what === 'forget') {
          forget(name);
          given.delete(name);
          wanted.delete(name);
        }
        const all = [...given].flatMap(([owner, ranges]) =>
          [...ranges].map((of) => ({ owner, range: range(of) })),
        );
        const clash = all.find((a) => all.some((b) => a.owner !== b.owner && overlaps(a.range, b.range)));
        expect(clash).toBeUndefined();
      }
    }),
  );
});
