#!/usr/bin/env node
import { runCli } from './commands/cli.ts';
import { skipApiTypes } from './kube/skip-api-types.ts';

skipApiTypes();
process.exitCode = await runCli(process.argv);
