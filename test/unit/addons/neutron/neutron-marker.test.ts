import { expect, test } from '@jest/globals';
import { descriptionOf, ownerIn } from '../../../../src/addons/neutron/neutron-marker.ts';

const owner = { key: 'default/example-network', uid: '5f0c-1', cluster: 'c0ffee' };

test('ownerIn reads the owner from a description', () => {
  expect(descriptionOf(owner)).toBe('Kubernetes Network default/example-network, uid 5f0c-1, cluster c0ffee');
  expect(ownerIn(descriptionOf(owner))).toEqual(owner);
});

test.each([
  '',
  'a network of ours',
  'Kubernetes Network default/x, uid a',
  `see: ${descriptionOf(owner)}`,
  `${descriptionOf(owner)}!`,
])('%j has no owner', (text) => {
  expect(ownerIn(text)).toBeUndefined();
});

test('the longest description fits into the 255 characters of Neutron', () => {
  const uid = 'c'.repeat(36);
  const longest = { key: `${'n'.repeat(63)}/${'m'.repeat(63)}`, uid, cluster: uid };
  expect(descriptionOf(longest).length).toBeLessThanOrEqual(255);
  expect(ownerIn(descriptionOf(longest))).toEqual(longest);
});
