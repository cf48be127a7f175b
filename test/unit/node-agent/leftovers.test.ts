import { expect, test } from '@jest/globals';
import { bridgeName } from '../../../src/network/providers/multus/cni-config.ts';
import { leftoversOf, withoutRulesOf } from '../../../src/node-agent/leftovers.ts';

const [gone, there] = [bridgeName('red/gone'), bridgeName('red/there')];

test('leftoversOf returns bridges without pods that no needed Network has', () => {
  const bridges = [
    { name: gone, ports: 0 },
    { name: there, ports: 0 },
    { name: bridgeName('red/busy'), ports: 1 },
  ];
  const networks = ['red.gone', 'red.there', 'red.busy', 'red.other', 'foo.bar'];
  expect(leftoversOf({ bridges, networks }, ['red/there'])).toEqual([
    { bridge: gone, networks: ['red.gone'] },
  ]);
});

const saved = `*nat
:PREROUTING ACCEPT [0:0]
:CNI-0a1b - [0:0]
:CNI-2c3d - [0:0]
-A POSTROUTING -s 10.20.0.10/32 -m comment --comment "name: \\"red.gone\\" id: \\"f00\\"" -j CNI-0a1b
-A POSTROUTING -s 10.20.0.11/32 -m comment --comment "name: \\"red.gone-not\\" id: \\"f11\\"" -j CNI-2c3d
-A CNI-0a1b -d 10.20.0.0/24 -m comment --comment "name: \\"red.gone\\" id: \\"f00\\"" -j ACCEPT
-A CNI-0a1b ! -d 224.0.0.0/4 -m comment --comment "name: \\"red.gone\\" id: \\"f00\\"" -j MASQUERADE
COMMIT
`;

test('withoutRulesOf deletes the rules and chains of the networks, and no other', () => {
  expect(withoutRulesOf(['red.gone'], saved)).toBe(`*nat
-D POSTROUTING -s 10.20.0.10/32 -m comment --comment "name: \\"red.gone\\" id: \\"f00\\"" -j CNI-0a1b
-F CNI-0a1b
-X CNI-0a1b
COMMIT
`);
  expect(withoutRulesOf(['red.there'], saved)).toBeUndefined();
});
