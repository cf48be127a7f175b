#!/usr/bin/env node
import { nodeProblem } from './cli/oldest-node.ts';

// Imported after the check, because an old Node.js cannot even link these modules.
const problem = nodeProblem(process.version);
if (problem === undefined) {
  const [{ runCli }, { skipApiTypes }] = await Promise.all([
    import('./program.ts'),
    import('./kube/client/skip-api-types.ts'),
  ]);
  skipApiTypes();
  process.exitCode = await runCli(process.argv);
} else {
  process.stderr.write(`error: ${problem}\n`);
  process.exitCode = 2;
}
