import { writeFileSync } from 'node:fs';
import { progress } from '../bench/progress.ts';
import { startControlPlane } from '../env/control-plane/start.ts';
import { eventually } from '../env/eventually.ts';
import { FaultLab } from '../support/faults/fault-lab.ts';
import { ProxiedOperator, prepareForOperators } from '../support/faults/proxied-operator.ts';
import { holds, type Row, table } from './report.ts';
import { playOutage, type Round } from './round.ts';
import { type OutageShape, settingsFrom } from './settings.ts';

// Outages of every length and kind, each several times: one operator for each length, all at once. Ends with 1 where a
// bound is broken.
const settings = settingsFrom(process.env);
const controlPlane = await startControlPlane();
const lab = await FaultLab.before(controlPlane);
await prepareForOperators(controlPlane);
let played = 0;
const total = settings.seconds.length * settings.shapes.length * settings.rounds;
let starts = 0;

async function startSubject(seconds: number): Promise<ProxiedOperator> {
  const name = `outages-${seconds}-${++starts}`;
  const subject = await ProxiedOperator.start(controlPlane, lab, { name, namespace: await lab.namespace() });
  await subject.createNetwork('first', 60_000);
  await eventually('it leads', () => subject.isReady('first'));
  return subject;
}

async function rowsOf(seconds: number): Promise<readonly Row[]> {
  const rows: Row[] = [];
  let subject = await startSubject(seconds);
  let round = 0;
  for (const shape of settings.shapes) {
    const rounds: Round[] = [];
    for (let i = 0; i < settings.rounds; i++) {
      const result = await playOutage(subject, shape, { seconds, round: ++round });
      rounds.push(result);
      tell(shape, seconds, result);
      if (Number.isFinite(result.readyMs + result.pendingReadyMs + result.laterReadyMs)) continue;
      // It will not recover. The next round is for another.
      await subject.kill();
      subject = await startSubject(seconds);
    }
    rows.push({ kind: shape.name, seconds, rounds });
  }
  await subject.kill();
  return rows;
}

function tell({ name }: OutageShape, seconds: number, round: Round): void {
  const { readyMs, pendingReadyMs, laterReadyMs, latestWriteMs, lateWrites } = round;
  const figures = [readyMs, pendingReadyMs, laterReadyMs, latestWriteMs].map((ms) => (ms / 1_000).toFixed(1));
  progress(
    `${++played}/${total}  ${name} ${seconds} s: Ready after ${figures[0]} s, work of the outage after ${figures[1]} s, of later after ${figures[2]} s, latest write ${figures[3]} s after a renewal, ${lateWrites.length} late`,
  );
}

const results = await Promise.all(settings.seconds.map(rowsOf));
const rows = settings.shapes.flatMap(({ name }) => results.flat().filter(({ kind }) => kind === name));
// Before the control plane ends, whose end may take a while.
writeFileSync(process.stdout.fd, table(rows));
await lab.close();
await controlPlane.stop();
process.exitCode = rows.every(holds) ? 0 : 1;
