import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { mergeNetworks } from '../../../../src/networks/pods/merge.ts';
import { OPEN_ACCESS } from '../../../../src/networks/pods/network-access.ts';
import { parseRequest } from '../../../../src/networks/pods/request.ts';
import { keyOfSelected, parseSelection, type Selection } from '../../../../src/networks/pods/selection.ts';

function selection(text: string): Selection {
  const parsed = parseSelection(text, 'red');
  if ('problem' in parsed) throw new Error(parsed.problem);
  return parsed;
}

function merged(ours: string, theirs: string | undefined): string {
  const result = mergeNetworks(selection(ours), theirs, 'red');
  if ('problem' in result) throw new Error(result.problem);
  return result.text;
}

test.each([
  ['nothing', 'blue', undefined, 'blue'],
  ['blanks', 'blue', ' ', 'blue'],
  ['another network', 'blue', 'green', 'green,blue'],
  ['the same network', 'blue', 'blue', 'blue'],
  ['the same network with its namespace', 'blue', 'red/blue', 'red/blue'],
  ['the same network with an interface', 'blue', 'blue@nw0', 'blue@nw0'],
  ['the same network twice', 'blue', 'blue,blue', 'blue,blue'],
  ['one of two networks', 'blue,green', 'green', 'green,blue'],
  ['JSON', 'blue', '[{"name": "green", "x": 1} ]', '[{"name": "green", "x": 1},{"name":"blue"}]'],
  ['an empty list', 'blue', '[ ]', '[{"name":"blue"}]'],
  [
    'names there and JSON of ours',
    '[{"name":"blue","mac":"m"}]',
    'w/green@nw0',
    '[{"name":"green","namespace":"w","interface":"nw0"},{"name":"blue","mac":"m"}]',
  ],
  [
    'more said there',
    '[{"name":"blue"}]',
    '[{"name":"blue","ips":["10.0.0.7/24"]}]',
    '[{"name":"blue","ips":["10.0.0.7/24"]}]',
  ],
])('the two annotations with %s', (_, ours, theirs, expected) => {
  expect(merged(ours, theirs)).toBe(expected);
});

const names = fc.constantFrom('a', 'b', 'c', 'd');
const devices = fc.constantFrom('nw0', 'nw1');
const namespaces = fc.constantFrom('red', 'green');
const named = fc
  .tuple(fc.option(namespaces), names, fc.option(devices))
  .map(([of, name, device]) => `${of ? `${of}/` : ''}${name}${device ? `@${device}` : ''}`);
const ips = fc.constant(['10.0.0.7/24']);
const element = fc.record(
  { name: names, namespace: namespaces, ips, interface: devices, other: fc.jsonValue() },
  { requiredKeys: ['name'] },
);
const annotation = fc.oneof(
  fc.array(named, { minLength: 1, maxLength: 5 }).map((list) => list.join(', ')),
  fc
    .tuple(fc.array(element, { maxLength: 5 }), fc.constantFrom(0, 2))
    .map(([list, indent]) => JSON.stringify(list, null, indent)),
);

/** Any two annotations that can be merged have this property. */
function whateverTheySay(check: (wanted: Selection, theirs: string, merged: string) => void): void {
  fc.assert(
    fc.property(annotation, annotation, (ours, theirs) => {
      const wanted = parseRequest(ours, 'red', OPEN_ACCESS);
      fc.pre(!('problem' in wanted));
      const result = mergeNetworks(wanted, theirs, 'red');
      fc.pre(!('problem' in result));
      check(wanted, theirs, result.text);
    }),
    { numRuns: 300 },
  );
}

describe('mergeNetworks of any two annotations', () => {
  test('is idempotent', () => {
    whateverTheySay((wanted, _, once) => {
      expect(mergeNetworks(wanted, once, 'red')).toEqual({ text: once });
    });
  });

  test("keeps the user's text in its order, before the rest", () => {
    whateverTheySay((_, theirs, text) => {
      const elements = (of: string) => selection(of).networks.map((network) => network.element);
      const before = elements(theirs);
      expect(elements(text).slice(0, before.length)).toEqual(before);
    });
  });

  test('has exactly the networks of both', () => {
    whateverTheySay((wanted, theirs, text) => {
      const keys = (of: Selection) => of.networks.map(keyOfSelected);
      const asked = new Set([...keys(wanted), ...keys(selection(theirs))]);
      expect(new Set(keys(selection(text)))).toEqual(asked);
    });
  });
});
