/**
 * A program to be killed in tests: starts two processes under a supervisor, prints what there is as one line of
 * JSON, and goes on until it is ended.
 */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSupervisor } from '../../env/control-plane/supervisor.ts';

const supervisor = await startSupervisor();
const directory = await supervisor.makeDirectory(join(tmpdir(), 'supervised-parent-'));
const pids = [supervisor.pid];
for (const name of ['first', 'second']) {
  const { pid } = await supervisor.start({ name, command: 'sleep', args: ['1000'] });
  pids.push(pid);
}
process.stdout.write(`${JSON.stringify({ pids, directory })}\n`);
