import { expect, test } from '@jest/globals';
import { AddressBook } from '../../../../src/networks/addresses/book.ts';
import { poolsOf } from '../../../../src/networks/addresses/pool.ts';

const FOUR = { cidr: '10.0.0.0/29', gateway: '10.0.0.1' };
const book = () => new AddressBook(poolsOf(FOUR));
const both = (cidr: string) => new AddressBook(poolsOf({ ...FOUR, secondary: { cidr, gateway: 'fd00::1' } }));
const holder = (id: string) => ({ id, name: `pod ${id}` });

test('an address rests before it is given again', () => {
  const made = book();
  expect(made.give(holder('a'))).toEqual(['10.0.0.2/29']);
  made.release('a');
  expect(['b', 'c', 'd', 'e', 'f'].map((id) => made.give(holder(id))?.join())).toEqual([
    '10.0.0.3/29',
    '10.0.0.4/29',
    '10.0.0.5/29',
    '10.0.0.6/29',
    '10.0.0.2/29',
  ]);
  expect([made.give(holder('g')), made.taken, made.total]).toEqual([undefined, 5, 5]);
  made.release('d');
  expect(made.give(holder('g'))).toEqual(['10.0.0.5/29']);
});

test('an address counts once, however many hold it, and stays taken until the last lets go', () => {
  const made = book();
  for (const id of ['a', 'b']) made.hold(holder(id), ['10.0.0.3/24', '10.0.0.3', '10.9.9.9']);
  expect(made.taken).toBe(1);
  expect(made.holdersOf('10.0.0.3').map(({ id }) => id)).toEqual(['a', 'b']);
  made.release('a');
  expect([made.taken, made.holdersOf('10.0.0.3').length]).toEqual([1, 1]);
  made.hold(holder('b'), []);
  expect([made.taken, made.holdersOf('10.0.0.3').length]).toEqual([0, 0]);
});

test('an address that is not given to pods is none of those that are taken', () => {
  const made = new AddressBook(poolsOf(FOUR, ['10.0.0.4/31']));
  expect([made.taken, made.total]).toEqual([0, 3]);
  made.hold(holder('a'), ['10.0.0.4', '10.0.0.2']);
  expect([made.taken, made.total]).toEqual([1, 3]);
  made.release('a');
  expect(made.taken).toBe(0);
});

test('who only asks for an address does not have it, but nobody gets it by chance', () => {
  const made = book();
  made.hold({ ...holder('a'), asks: true }, ['10.0.0.2']);
  expect(made.holdersOf('10.0.0.2')).toEqual([]);
  expect(made.give(holder('b'))).toEqual(['10.0.0.3/29']);
});

test('a pod gets an address of each family, or none', () => {
  const made = both('fd00::/126');
  expect(made.give(holder('a'))).toEqual(['10.0.0.2/29', 'fd00::2/126']);
  expect(made.give(holder('b'))).toEqual(['10.0.0.3/29', 'fd00::3/126']);
  expect(made.give(holder('c'))).toBeUndefined();
  expect([made.taken, made.total]).toEqual([2, 2]);
  made.release('a');
  expect(made.give(holder('c'))).toEqual(['10.0.0.4/29', 'fd00::2/126']);
});

test('an address without a prefix length gets that of its range', () => {
  const made = both('fd00::/126');
  expect(['10.0.0.3', 'fd00::3', '10.0.0.3/24'].map((text) => made.withPrefix(text))).toEqual([
    '10.0.0.3/29',
    'fd00::3/126',
    '10.0.0.3/24',
  ]);
});

test('a name gets addresses in canonical form, and only those that pods may have', () => {
  const made = both('fd00::/64');
  expect(
    ['10.0.0.3/24', '::ffff:10.0.0.3', '0xa000003', 'FD00:0::7/64', 'fd00::1:0:7'].map((each) =>
      made.plainOf(each),
    ),
  ).toEqual(['10.0.0.3', '10.0.0.3', '10.0.0.3', 'fd00::7', 'fd00::1:0:7']);
  expect(['10.0.0.1', '10.0.0.0', '10.0.1.3', 'none'].map((each) => made.plainOf(each))).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});
