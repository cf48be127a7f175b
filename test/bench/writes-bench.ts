import { readFile } from 'node:fs/promises';
import { eventually } from '../env/eventually.ts';
import type { Measurement } from './measurement.ts';
import { User } from './networks.ts';
import { ALONE, type Stage, setStage } from './stage.ts';
import { summarise } from './statistics.ts';

/** Networks by which writes are counted. */
const COUNTED = 100;

/** Writes of the operator to bring a Network to Ready, and at a resync at which nothing is to be done. */
export async function writesBench(): Promise<readonly Measurement[]> {
  const stage = await setStage({ auditLog: 'Metadata', args: [ALONE, '--resync=1s'] });
  const user = new User(stage.controlPlane);
  try {
    const { untilReady, end } = user.watchReady();
    await user.createNetworks(0, COUNTED);
    await untilReady(COUNTED);
    await end();
    const toReady = await writes(stage);
    const reconciled = await stage.metric('controller_runtime_reconcile_total');
    await eventually('five resyncs', async () => {
      return (await stage.metric('controller_runtime_reconcile_total')) >= reconciled + 5 * COUNTED;
    });
    const idle = (await writes(stage)) - toReady;
    return [
      {
        name: 'writes to bring a Network to Ready',
        unit: '',
        ours: summarise([toReady / COUNTED]),
        bound: { most: 3 },
      },
      { name: 'writes at five idle resyncs', unit: '', ours: summarise([idle]), bound: { most: 0 } },
    ];
  } finally {
    await user.close();
    await stage.stop();
  }
}

interface AuditEntry {
  readonly verb: string;
  readonly user?: { readonly username?: string };
  readonly objectRef?: { readonly resource?: string };
}

/** What the API server's audit log has of the operator's; Events apart. */
async function writes({ controlPlane }: Stage): Promise<number> {
  const entries = (await readFile(controlPlane.auditLogPath, 'utf8'))
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as AuditEntry);
  return entries.filter(
    ({ verb, user, objectRef }) =>
      user?.username?.startsWith('system:serviceaccount:') &&
      ['create', 'update', 'patch', 'delete'].includes(verb) &&
      ['networks', 'network-attachment-definitions'].includes(objectRef?.resource ?? ''),
  ).length;
}
