import type { Command } from 'commander';
import { stopSignal } from '../kube/manager/lifecycle.ts';
import { serve } from '../operator/serve.ts';
import type { CommandContext, SetUpCommand } from './add-on.ts';
import { addServeOptions, type ServeOptions, unknownVariables } from './options/serve-options.ts';

/** Runs the operator until the process is told to stop. */
export async function run(
  { addOns }: CommandContext,
  options: ServeOptions,
  command: Command,
): Promise<never> {
  const ignoredVariables = unknownVariables(process.env, command.options);
  const parts = await Promise.all(addOns.flatMap(({ operator }) => operator?.() ?? []));
  const providers = await Promise.all(addOns.flatMap(({ provider }) => provider?.() ?? []));
  const given = { ...options, ignoredVariables };
  const setUps = providers.map((provider) => provider(given));
  // process.exit: a shutdown step that timed out must not keep the process alive.
  process.exit(await serve(given, parts, stopSignal(), setUps));
}

export const setUpCommand: SetUpCommand = addServeOptions;
