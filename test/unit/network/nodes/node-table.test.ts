import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  type NodeTable,
  nextTable,
  parseTable,
  type TableNode,
} from '../../../../src/network/nodes/node-table.ts';

const node = (name: string): TableNode => ({ name, uid: `uid-of-${name}`, addresses: ['192.0.2.1'] });
const notHeld = () => false;
const numbersOf = (table: NodeTable) =>
  Object.fromEntries(Object.entries(table).map(([name, entry]) => [name, entry.number]));

describe('nextTable', () => {
  test('gives each new node the lowest free number', () => {
    const first = nextTable({}, ['b', 'a', 'c'].map(node), notHeld);
    expect(numbersOf(first)).toEqual({ a: 1, b: 2, c: 3 });
    const second = nextTable(first, ['a', 'c', 'd', 'e'].map(node), notHeld);
    expect(numbersOf(second)).toEqual({ a: 1, c: 3, d: 2, e: 4 });
  });

  test('keeps the number of a deleted node while its pods exist', () => {
    const first = nextTable({}, ['a', 'b'].map(node), notHeld);
    const second = nextTable(first, ['b', 'c'].map(node), (name) => name === 'a');
    expect(numbersOf(second)).toEqual({ a: 1, b: 2, c: 3 });
    expect(second.a).toEqual(first.a);
    expect(numbersOf(nextTable(second, ['b', 'c', 'd'].map(node), notHeld))).toEqual({ b: 2, c: 3, d: 1 });
  });

  test('repairs a table with duplicate numbers', () => {
    const entry = { number: 1, uid: '', addresses: [] };
    expect(numbersOf(nextTable({ a: entry, b: entry }, ['a', 'b'].map(node), notHeld))).toEqual({
      a: 1,
      b: 2,
    });
  });

  test('accepts any node name', () => {
    const names = ['constructor', 'toString', '__proto__x'];
    expect(numbersOf(nextTable({}, names.map(node), notHeld))).toEqual({
      __proto__x: 1,
      constructor: 2,
      toString: 3,
    });
  });

  test('never gives two nodes the same number and never changes one, for any nodes', () => {
    const names = fc.subarray(['a', 'b', 'c', 'd', 'e', 'f', 'g']);
    const steps = fc.array(fc.record({ there: names, held: names }), { maxLength: 20 });
    fc.assert(
      fc.property(steps, (all) => {
        let table: NodeTable = {};
        for (const { there, held } of all) {
          const next = nextTable(table, there.map(node), (name) => held.includes(name));
          const entries = Object.entries(next);
          expect(new Set(entries.map(([, { number }]) => number)).size).toBe(entries.length);
          expect(entries.map(([name]) => name)).toEqual(
            expect.arrayContaining([...there, ...held.filter((name) => table[name])]),
          );
          for (const [name, { number }] of entries) expect(number).toBe(table[name]?.number ?? number);
          expect(nextTable(next, there.map(node), (name) => held.includes(name))).toEqual(next);
          table = next;
        }
      }),
    );
  });

  test('returns a table that parseTable reads, and parseTable reads nothing else', () => {
    const table = nextTable({}, ['a', 'b'].map(node), notHeld);
    expect(parseTable(JSON.stringify(table))).toEqual(table);
    for (const text of [
      undefined,
      '',
      '[]',
      'null',
      '{"a":1}',
      '{"a":{"number":0,"addresses":[],"uid":""}}',
      '{"a":{"number":1,"addresses":[1],"uid":""}}',
    ]) {
      expect(parseTable(text)).toBeUndefined();
    }
  });
});
