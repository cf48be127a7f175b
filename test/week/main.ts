import { setTimeout as delay } from 'node:timers/promises';
import type { KubeClient } from '../../src/kube/client/client.ts';
import { eventually } from '../env/eventually.ts';
import { AdmissionLoad } from '../support/cluster/admission-load.ts';
import { apply } from '../support/cluster/cluster-kubectl.ts';
import { stopCluster } from '../support/cluster/e2e-cluster.ts';
import { AGENT, OPERATOR } from '../support/cluster/operator-in-cluster.ts';
import { deployment } from '../support/cluster/traffic-workloads.ts';
import { connect } from '../support/operator/api-access.ts';
import { objectNames } from '../support/operator/object-names.ts';
import { operatorCalls } from '../support/operator/rights.ts';
import { FIRST, IDLE, IMAGES, THEN, template } from './happenings.ts';
import { ASKED, STATE, World } from './world.ts';

// What a week brings to a cluster of two nodes with both features on, in minutes; WEEK_ROUNDS times. At its end every pod must
// have what it asked for, nobody writes, memory is where it was, and nothing is left over.

const ROUNDS = Number(process.env.WEEK_ROUNDS || 1);
const QUIET_MS = 60_000;
/** What a heap may grow by that is collected late. */
const GROWTH_MIB = 32;

const faults: string[] = [];
const say = (text: string) => void process.stderr.write(`${text}\n`);
const fault = (text: string) => say(`FAULT: ${faults[faults.push(text) - 1]}`);

const world = await World.start();
const { cluster, machines } = world;

async function happen(all: typeof FIRST, load: AdmissionLoad, client: KubeClient): Promise<void> {
  for (const [what, act] of all) {
    const [began, before] = [performance.now(), load.refusals.length];
    await act(world, client);
    await world.settled();
    const refused = load.refusals.slice(before);
    say(`${what}: ${((performance.now() - began) / 1000).toFixed(1)} s, ${refused.length} pods refused`);
    if (refused.length > 0 && !what.includes('outage'))
      fault(`${what}: a pod was refused: ${refused[0]?.message}`);
  }
}

/** What each container of ours holds without files, in MiB. */
async function memory(): Promise<ReadonlyMap<string, number>> {
  const held = new Map<string, number>();
  const code = 'console.log(/RssAnon:\\s+(\\d+)/.exec(fs.readFileSync("/proc/1/status"))[1])';
  for (const name of [OPERATOR, AGENT]) {
    for (const { metadata, status } of await world.pods(name, `app=${name}`)) {
      const [{ containerID = '', restartCount = 0 } = {}] = status.containerStatuses ?? [];
      if (restartCount > 0) fault(`${metadata.name} has been restarted ${restartCount} times`);
      const kibibytes = await world.run(['exec', metadata.name, `-n=${name}`, '--', 'node', '-e', code]);
      held.set(`${metadata.name} ${containerID.slice(-8)}`, Math.round(Number(kibibytes) / 1024));
    }
  }
  return held;
}

async function rounds(load: AdmissionLoad, client: KubeClient): Promise<void> {
  for (let round = 1; round <= ROUNDS; round += 1) {
    say(`round ${round} of ${ROUNDS}`);
    await happen(FIRST, load, client);
    const before = await memory();
    await happen(THEN, load, client);
    for (const [container, now] of await memory()) {
      const then = before.get(container) ?? 0;
      say(`${container}: ${then} MiB, then ${now} MiB`);
      if (now > then + GROWTH_MIB) fault(`${container} is new, or has grown from ${then} to ${now} MiB`);
    }
  }
}

async function writes(): Promise<readonly string[]> {
  const { auditLogPath } = cluster.controlPlane;
  const users = [OPERATOR, AGENT].map((name) => `system:serviceaccount:${name}:${name}`);
  const calls = (await Promise.all(users.map((user) => operatorCalls(auditLogPath, user)))).flat();
  return calls
    .filter(
      ({ verb, resource }) => !(['get', 'list', 'watch'].includes(verb) || resource.startsWith('leases')),
    )
    .map(({ verb, uri }) => `${verb} ${uri}`);
}

/** What nodes have of Networks. */
async function traces(): Promise<readonly string[]> {
  const line = `ip -o link; nft list ruleset; find ${STATE} /var/lib/cni`;
  const found = await Promise.all(machines.map((machine) => world.on(machine, line)));
  return found.flatMap((text) => text.split('\n').filter((each) => /\bnw-\w{12}/.test(each)));
}

/** All objects, without those that are new with each pod, and the history of templates. */
async function objects(): Promise<readonly string[]> {
  return (await objectNames(cluster)).filter(
    (name) => !/^(Pod|ReplicaSet|EndpointSlice|ControllerRevision) /.test(name),
  );
}

async function week(client: KubeClient): Promise<void> {
  await world.network('both', '10.200');
  const both = deployment('both', { [ASKED]: 'both' }, IDLE, 4);
  await apply(cluster, both, deployment('plain', undefined, IDLE, 1));
  await template(world, IMAGES[0]);
  await world.settled();
  const before = await objects();
  await world.run('create namespace e2e-load');
  const load = new AdmissionLoad(client, 'e2e-load', 2);
  load.start();
  await rounds(load, client).finally(() => load.stop());
  say(load.summary());
  if (load.bare.length > 0) fault(`${load.bare.length} pods were left without a sidecar`);

  const written = (await writes()).length;
  await delay(QUIET_MS);
  const since = new Set((await writes()).slice(written));
  if (since.size > 0) fault(`writes go on: ${[...since].join(', ')}`);

  await world.run('delete network/both --wait=false');
  await world.run('delete deployment both plain');
  await world.run('delete namespace e2e-load --timeout=600s');
  await world.run('wait network/both --for=delete --timeout=120s');
  await eventually('nodes are clean', async () => (await traces()).length === 0).catch(() => {});
  const left = (await objects()).filter((name) => !before.includes(name)).concat(await traces());
  if (left.length > 0) fault(`left over: ${left.join(', ')}`);
}

const api = connect(cluster.kubeconfigPath);
try {
  await week(api.client);
} catch (err) {
  fault(err instanceof Error ? `${err.message} ${err.cause ?? ''}` : String(err));
} finally {
  await api.close();
  await stopCluster(cluster);
}
say(`${faults.length} faults`);
process.exitCode = faults.length === 0 ? 0 : 1;
