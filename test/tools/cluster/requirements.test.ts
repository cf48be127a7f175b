import { describe, expect, test } from '@jest/globals';
import { faultsOf } from '../../env/cluster/debian-packages.ts';
import type { Requirement } from '../../env/cluster/requirements.ts';

function tool(output: string, atLeast?: string, command = 'echo'): Requirement {
  const probe = [command, output] as const;
  return { name: 'tool', debianPackage: 'tool', probe, ...(atLeast === undefined ? {} : { atLeast }) };
}

describe('a program that a node needs', () => {
  test.each([
    ['runc version 1.1.5+ds1', '1.1'],
    ['containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+deb12u3', '1.6'],
    ['containerd github.com/containerd/containerd/v2 2.3.7', '1.6'],
    ['iptables v1.8.9 (nf_tables)', '1.8'],
    ['tool 1.10', '1.9'],
    ['no number at all', undefined],
  ])('that says `%s` will do where %s is asked for', async (output, atLeast) => {
    await expect(faultsOf([tool(output, atLeast)])).resolves.toEqual([]);
  });

  test.each([
    [tool('tool 1.5.9', '1.6'), 'tool 1.5.9, expected 1.6 or newer'],
    [tool('tool 1.9', '1.10'), 'tool 1.9, expected 1.10 or newer'],
    [tool('tool', '1.6'), 'tool of an unknown version, expected 1.6 or newer'],
    [tool('', '1.6', 'no-such-program'), 'no tool'],
    [tool('', undefined, 'false'), 'no tool'],
  ])('is told of with its package where it will not: %#', async (requirement, fault) => {
    await expect(faultsOf([requirement])).resolves.toEqual([{ debianPackage: 'tool', fault }]);
  });
});
