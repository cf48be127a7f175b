import { stopSignal } from '../kube/manager/shutdown.ts';
import { type NodeAgentOptions, nodeAgent } from '../networks/agent/node-agent.ts';
import type { SetUpCommand } from './add-on.ts';
import { addNodeAgentOptions } from './options/node-agent-options.ts';
import { unknownVariables } from './options/serve-options.ts';

export const setUpCommand: SetUpCommand = (command, { addOns, ended }) => {
  addNodeAgentOptions(command.allowExcessArguments(false)).action(async (options: NodeAgentOptions) => {
    const ignoredVariables = unknownVariables(process.env, command.options);
    const parts = await Promise.all(addOns.flatMap(({ nodePart }) => nodePart?.() ?? []));
    ended(await nodeAgent({ ...options, ignoredVariables }, stopSignal(), parts));
  });
};
