import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  type NodeTable,
  nextTable,
  parseTable,
  type TableNode,
} from '../../../../src/network/nodes/node-table.ts';

const node = (name: string): TableNode => ({ name, uid: `uid-of-${name}`, addresses: ['192.0.2.1'] });
const nobody = () => false;
const numbersOf = (table: NodeTable) =>
  Object.fromEntries(Object.entries(table).map(([name, entry]) => [name, entry.number]));

describe('the table of nodes', () => {
  test('gives each new node the lowest number that is free', () => {
    const first = nextTable({}, ['b', 'a', 'c'].map(node), nobody);
    expect(numbersOf(first)).toEqual({ a: 1, b: 2, c: 3 });
    const second = nextTable(first, ['a', 'c', 'd', 'e'].map(node), nobody);
    expect(numbersOf(second)).toEqual({ a: 1, c: 3, d: 2, e: 4 });
  });

  test('keeps the number of a node that is gone for as long as its pods are there', () => {
    const first = nextTable({}, ['a', 'b'].map(node), nobody);
    const second = nextTable(first, ['b', 'c'].map(node), (name) => name === 'a');
    expect(numbersOf(second)).toEqual({ a: 1, b: 2, c: 3 });
    expect(second.a).toEqual(first.a);
    expect(numbersOf(nextTable(second, ['b', 'c', 'd'].map(node), nobody))).toEqual({ b: 2, c: 3, d: 1 });
  });

  test('mends what somebody has written into it', () => {
    const entry = { number: 1, uid: '', addresses: [] };
    expect(numbersOf(nextTable({ a: entry, b: entry }, ['a', 'b'].map(node), nobody))).toEqual({
      a: 1,
      b: 2,
    });
  });

  test('takes a node by any name', () => {
    const names = ['constructor', 'toString', '__proto__x'];
    expect(numbersOf(nextTable({}, names.map(node), nobody))).toEqual({
      __proto__x: 1,
      constructor: 2,
      toString: 3,
    });
  });

  test('never has two nodes of one number, and moves none, whoever comes and goes', () => {
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

  test('is read as it was written, and nothing else is', () => {
    const table = nextTable({}, ['a', 'b'].map(node), nobody);
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
