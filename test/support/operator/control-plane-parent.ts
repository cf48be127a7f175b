/** A program to be killed in tests: starts a control plane, prints what there is as one line of JSON, and goes on. */
import { startControlPlane } from '../../env/control-plane/start.ts';

const { pids, directory } = await startControlPlane();
process.stdout.write(`${JSON.stringify({ pids: Object.values(pids), directory })}\n`);
