#!/usr/bin/env node
import { runCli } from './commands/cli.ts';

process.exitCode = await runCli(process.argv);
