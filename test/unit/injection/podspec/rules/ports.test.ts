import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { formatPort, PortIndex, portCollision } from '../../../../../src/injection/podspec/rules/ports.ts';

describe('two ports of one pod', () => {
  const host = (hostPort: number, hostIP?: string) => ({
    containerPort: hostPort + (hostIP?.length ?? 0) + 1000,
    hostPort,
    ...(hostIP !== undefined && { hostIP }),
  });

  // biome-ignore format: a line for each case
  test.each([
    ['the same port', { containerPort: 80 }, { containerPort: 80 }, 'containerPort'],
    ['another port', { containerPort: 80 }, { containerPort: 81 }, undefined],
    ['TCP by default', { containerPort: 80 }, { containerPort: 80, protocol: 'TCP' }, 'containerPort'],
    ['another protocol', { containerPort: 53 }, { containerPort: 53, protocol: 'UDP' }, undefined],
    ['a host port of another protocol', { containerPort: 1, hostPort: 53 }, { containerPort: 2, hostPort: 53, protocol: 'UDP' }, undefined],
    ['no host port', { containerPort: 1 }, { containerPort: 2 }, undefined],
    ['a host port that is 0', { containerPort: 1, hostPort: 0 }, { containerPort: 2, hostPort: 0 }, undefined],
    ['another host port', host(80), host(81), undefined],
    ['a host port on every address', { ...host(80), containerPort: 1 }, host(80), 'hostPort'],
    ['a host port on one address and on every', host(80, '10.0.0.1'), host(80), 'hostPort'],
    ['a host port on every address and on one', host(80), host(80, '10.0.0.1'), 'hostPort'],
    ['a host port on one address and on 0.0.0.0', host(80, '10.0.0.1'), host(80, '0.0.0.0'), 'hostPort'],
    ['a host port on one address and on ::', host(80, '10.0.0.1'), host(80, '::'), 'hostPort'],
    ['a host port on 0.0.0.0 and on ::', host(80, '0.0.0.0'), host(80, '::'), 'hostPort'],
    ['a host port twice on one address', { ...host(80, '10.0.0.1'), containerPort: 1 }, host(80, '10.0.0.1'), 'hostPort'],
    ['a host port on two addresses', { ...host(80, '10.0.0.1'), containerPort: 1 }, host(80, '10.0.0.2'), undefined],
  ])('%s', (_, a, b, want) => {
    expect(portCollision(a, b)).toBe(want);
    expect(portCollision(b, a)).toBe(want);
  });

  test('are written with their protocol', () => {
    expect(formatPort({ containerPort: 80, hostPort: 8080 })).toBe('80/TCP');
    expect(formatPort({ containerPort: 80, hostPort: 8080, protocol: 'SCTP' }, 'hostPort')).toBe('8080/SCTP');
  });
});

test('PortIndex finds the same collisions as a check of each port, in the same order', () => {
  const number = fc.constantFrom(0, 80, 81);
  const port = fc.record(
    {
      containerPort: number,
      hostPort: number,
      protocol: fc.constantFrom('TCP', 'UDP'),
      hostIP: fc.constantFrom('', '0.0.0.0', '10.0.0.1', '10.0.0.2'),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.array(port, { maxLength: 8 }), port, (ports, wanted) => {
      const index = new PortIndex<number>();
      for (const [owner, each] of ports.entries()) index.add(owner, each);
      const expected = ports.flatMap((each, owner) => {
        const field = portCollision(wanted, each);
        return field ? [{ owner, field }] : [];
      });
      expect(index.collisionsOf(wanted).map(({ owner, field }) => ({ owner, field }))).toEqual(expected);
    }),
  );
});
