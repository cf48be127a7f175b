import * as clientNode from '@kubernetes/client-node';
import { makeInformer } from '../../src/kube/compat/index.ts';
import { findBinaries } from '../env/control-plane/build.ts';
import { startControlPlane } from '../env/control-plane/start.ts';
import { FaultLab } from '../support/faults/fault-lab.ts';
import { type Case, cases, play } from './cases.ts';
import { clientNodeSubject } from './client-node-subject.ts';
import { ourSubject } from './our-subject.ts';
import type { Subject } from './subject.ts';

const SURVIVED = 'yes';
const subjects: readonly Subject[] = [
  clientNodeSubject('client-node', clientNode.makeInformer, { restarts: false }),
  clientNodeSubject('client-node, restarted on error', clientNode.makeInformer, { restarts: true }),
  clientNodeSubject('ours, by makeInformer', makeInformer, { restarts: false }),
  ourSubject,
];

// Prints, as Markdown, what each informer survives. It takes four minutes, most of them spent on what never comes.
const { 'kube-controller-manager': _, ...binaries } = await findBinaries(process.env);
// Without a controller manager, which would put ConfigMaps of its own into each namespace.
const controlPlane = await startControlPlane({ binaries });
// What nobody catches, client-node's own among it, is not the end of the comparison.
process.on('unhandledRejection', () => undefined);
const lab = await FaultLab.before(controlPlane);

const together = cases.filter(({ alone }) => !alone);
const cells = new Map(await Promise.all(together.map(async (one) => [one, await inAll(one)] as const)));
for (const one of cases.filter(({ alone }) => alone)) cells.set(one, await inAll(one));

const header = ['what happens', ...subjects.map(({ name }) => name)];
const rows = cases.map((one) => [one.title, ...(cells.get(one) ?? [])]);
const survived = subjects.map((_, i) => rows.filter((row) => row[i + 1] === SURVIVED).length);
const total = [`survived, of ${cases.length}`, ...survived];
for (const row of [header, header.map(() => '---'), ...rows, total]) {
  process.stdout.write(`| ${row.join(' | ')} |\n`);
}
await lab.close();
await controlPlane.stop();

async function inAll(one: Case): Promise<readonly string[]> {
  if (!one.alone) return Promise.all(subjects.map((subject) => result(one, subject)));
  const results: string[] = [];
  for (const subject of subjects) results.push(await result(one, subject));
  return results;
}

async function result(one: Case, subject: Subject): Promise<string> {
  return (await play(one, subject, lab)) ? SURVIVED : '**no**';
}
