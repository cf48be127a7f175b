import { expect, test } from '@jest/globals';
import { installCommands } from '../../env/kind/docs-commands.ts';

const applied = async (networks: boolean) =>
  (await installCommands(networks)).filter((command) => command.includes(' apply '));

test('make kind types what docs/install.md says, with the overlay that was asked for', async () => {
  expect(await applied(true)).toEqual([expect.stringMatching(/deploy\/overlays\/kind$/)]);
  expect(await applied(false)).toEqual([expect.stringMatching(/deploy\/overlays\/default$/)]);
  expect((await installCommands(false))[0]).toBe('kind create cluster');
});
