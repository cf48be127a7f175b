import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { AddressBook } from '../../../../src/networks/addresses/book.ts';
import { poolsOf } from '../../../../src/networks/addresses/pool.ts';
import { give, withAddresses } from '../../../../src/networks/addresses/request.ts';
import { parseSelection } from '../../../../src/networks/pods/selection.ts';

const ips = ['10.0.0.2/24', 'fd00::2/64'];

function filled(text: string, given: Readonly<Record<number, readonly string[]>>): string {
  const selection = parseSelection(text, 'default');
  if ('problem' in selection) throw new Error(selection.problem);
  return withAddresses(
    selection,
    new Map(Object.entries(given).map(([index, each]) => [Number(index), each])),
  );
}

describe('the annotation with addresses', () => {
  test.each([
    [
      'names become objects',
      'red/blue@nw0,green',
      { 0: ips },
      `[{"name":"blue","namespace":"red","interface":"nw0","ips":["10.0.0.2/24","fd00::2/64"]},{"name":"green"}]`,
    ],
    [
      'all else stays to the letter',
      ' [ {"name" : "blue", "x": 1.0} , {"name":"a\\"}]"}\n]',
      { 0: ['10.0.0.2/24'] },
      `[ {"name" : "blue", "x": 1.0,"ips":["10.0.0.2/24"]} , {"name":"a\\"}]"}\n]`,
    ],
    [
      'an empty list is replaced',
      '[{"name":"blue","ips":[]},{"name":"green","cni-args":{"a":[{}]}}]',
      { 0: ['10.0.0.2/24'], 1: ['10.1.0.2/24'] },
      '[{"name":"blue","ips":["10.0.0.2/24"]},{"name":"green","cni-args":{"a":[{}]},"ips":["10.1.0.2/24"]}]',
    ],
    ['without addresses it stays as it is', 'blue,green', {}, 'blue,green'],
  ])('%s', (_, text, given, expected) => {
    expect(filled(text, given)).toBe(expected);
  });

  test('is the same JSON, but for the addresses', () => {
    const element = fc
      .record({ interface: fc.string(), 'cni-args': fc.jsonValue({ maxDepth: 3 }) }, { requiredKeys: [] })
      .map((rest) => ({ name: 'blue', ...rest }));
    fc.assert(
      fc.property(
        fc.array(element, { minLength: 1, maxLength: 4 }),
        fc.nat(3),
        fc.boolean(),
        (list, at, pretty) => {
          const index = at % list.length;
          const text = filled(JSON.stringify(list, null, pretty ? 2 : 0), { [index]: ips });
          const wanted = list.map((each, i) => (i === index ? { ...each, ips } : each));
          expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(wanted)));
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe('an address that a pod asks for', () => {
  const book = () => {
    const made = new AddressBook(poolsOf({ cidr: '10.0.0.0/24', gateway: '10.0.0.1' }));
    made.hold({ id: 's1', name: 'pod default/s1' }, ['10.0.0.7/24']);
    return made;
  };
  const ask = (ip: string, sharedWith?: string) =>
    give(
      book(),
      { id: 'p', name: 'pod default/p' },
      { index: 0, network: 'default/blue', ips: [ip], sharedWith },
    );

  test.each([
    ['10.0.0.8', ['10.0.0.8/24']],
    ['10.0.0.8/24', ['10.0.0.8/24']],
  ])('is given: %s', (ip, given) => {
    expect(ask(ip)).toEqual(given);
  });

  test('is waited for where another pod has it, and shared with a claim', () => {
    const why = '10.0.0.7 of Network default/blue is of pod default/s1';
    expect(ask('10.0.0.7')).toEqual({ reason: 'WaitsForNetwork', why });
    expect(ask('10.0.0.7', 's1')).toEqual(['10.0.0.7/24']);
  });

  test.each([
    ['10.0.0.1', 'is its gateway'],
    ['10.0.0.0', 'is its network address'],
    ['10.0.1.1', 'is not in its range'],
  ])('is refused: %s', (ip, problem) => {
    const why = `it asks for ${ip} on Network default/blue, which ${problem}: recreate the pod with another address, or none`;
    expect(ask(ip)).toEqual({ reason: 'InvalidNetworkAnnotation', why });
  });
});

test('without a free address, a pod is told how many there are', () => {
  const book = new AddressBook(poolsOf({ cidr: '10.0.0.0/30', gateway: '10.0.0.1' }));
  const wish = { index: 0, network: 'default/blue', ips: [] };
  expect(give(book, { id: 'a', name: 'a' }, wish)).toEqual(['10.0.0.2/30']);
  const why =
    'Network default/blue has no free address, 1 of 1 are taken: delete pods on it, or use another Network';
  expect(give(book, { id: 'b', name: 'b' }, wish)).toEqual({ reason: 'AddressesExhausted', why });
});
