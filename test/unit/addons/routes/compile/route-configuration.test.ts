import { expect, test } from '@jest/globals';
import {
  hostList,
  portHost,
  routeFile,
} from '../../../../../src/addons/routes/compile/route-configuration.ts';

const host = (index: number) =>
  portHost(
    { service: `shop/"cart-${index}"`, port: 80, addresses: ['10.96.0.1'] } as never,
    [],
    () => undefined,
  );

test.each([0, 1, 20, 21, 45])('the JSON of a file of %d hosts is that of its text', (count) => {
  const hosts = Array.from({ length: count }, (_, index) => host(index));
  const file = routeFile(hostList([undefined, ...hosts]));
  expect([...file.json()].join('')).toBe(JSON.stringify(file.text));
  expect(Math.max(...Array.from(file.json(), ({ length }) => length))).toBeLessThan(20_000);
});
