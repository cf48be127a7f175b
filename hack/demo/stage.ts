import { join } from 'node:path';
import type { ControlPlane } from '../../test/env/control-plane/control-plane.ts';
import { projectDirectory } from '../../test/env/control-plane/project-directory.ts';
import type { CommandResult } from '../../test/env/control-plane/run-command.ts';
import type { Narrator } from './narrator.ts';

/** What each part of the demo uses. */
export interface Stage {
  readonly narrator: Narrator;
  readonly controlPlane: ControlPlane;
  readonly webhookUrl: string;
  readonly metricsUrl: string;
  readonly caPem: string;
}

/** Runs kubectl, and shows the command and its output. */
export async function show(
  { narrator, controlPlane }: Stage,
  args: readonly string[],
): Promise<CommandResult> {
  const result = await controlPlane.kubectl(args.map(fromProject));
  narrator.command(`kubectl ${args.map(quoted).join(' ')}`, result.stdout, result.stderr);
  return result;
}

/** Runs kubectl, and shows the command without its output. */
export async function change(stage: Stage, args: readonly string[]): Promise<void> {
  await quietly(stage, args);
  stage.narrator.command(`kubectl ${args.map(quoted).join(' ')}`);
}

/** Runs kubectl without showing it. Returns its output. @throws Error with its standard error if it fails. */
export async function quietly({ controlPlane }: Stage, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await controlPlane.kubectl(args.map(fromProject));
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr.trim()}`);
  return stdout;
}

/** The output shows paths relative to the project; kubectl gets absolute ones. */
function fromProject(arg: string): string {
  return arg.startsWith('deploy/') || arg.startsWith('crd/') ? join(projectDirectory(), arg) : arg;
}

function quoted(arg: string): string {
  return /^[-\w./=:,@]+$/.test(arg) ? arg : `'${arg}'`;
}
