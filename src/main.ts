#!/usr/bin/env node
import { runCli } from './cli/program.ts';
import { skipApiTypes } from './kube/client/skip-api-types.ts';

skipApiTypes();
process.exitCode = await runCli(process.argv);
