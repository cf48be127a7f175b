#!/usr/bin/env node
import { nodeProblem } from './cli/oldest-node.ts';

// Imported after the check, because an old Node.js cannot even link these modules.
const problem = nodeProblem(process.version);
if (problem === undefined) {
  const { runCli } = await import('./program.ts');
  process.exitCode = await runCli(process.argv);
} else {
  process.stderr.write(`error: ${problem}\n`);
  process.exitCode = 2;
}
