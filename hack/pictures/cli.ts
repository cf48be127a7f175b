import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { projectDirectory } from '../../test/env/control-plane/project-directory.ts';
import { runCommand } from '../../test/env/control-plane/run-command.ts';
import { terminalPicture } from './terminal-picture.ts';

// Draws the picture of the documents: the output of `make run`.

const CHAPTERS = [
  'A pod that opts in',
  'A Deployment in a namespace that opts in',
  'A pod that does not opt in',
  'A Network',
  'Summary',
];
const path = (file: string) => join(projectDirectory(), file);

const env = { ...(process.env as Record<string, string>), FORCE_COLOR: '1' };
const { stdout, stderr, code } = await runCommand(process.execPath, [path('hack/run.ts'), '--once'], env, '');
if (code !== 0) throw new Error(`expected exit code 0 of the demo, got ${code}:\n${stdout}${stderr}`);
await writeFile(path('docs/run.svg'), terminalPicture(stdout, CHAPTERS));
process.stdout.write('docs/run.svg\n');
