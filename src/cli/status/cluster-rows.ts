import { CALLED_AS } from '../program-name.ts';
import type { StatusFacts } from './facts.ts';
import {
  about,
  type CheckResult,
  count,
  firstOf,
  flag,
  kubectl,
  none,
  note,
  ok,
  problem,
  rolloutOf,
  type StatusRow,
} from './rows.ts';

/** What the operator does in the cluster. */
export function clusterRows(facts: StatusFacts, ofAddOns: readonly StatusRow[]): readonly StatusRow[] {
  return [
    { check: 'template', ...template(facts) },
    ...ofAddOns,
    { check: 'networks', ...networks(facts) },
    { check: 'multus', ...multus(facts) },
    { check: 'node agents', ...nodeAgents(facts) },
    { check: 'waiting pods', ...waiting(facts) },
    { check: 'pods', ...pods(facts) },
    { check: 'skipped pods', ...skipped(facts) },
  ];
}

function template(facts: StatusFacts): CheckResult {
  const { configmap, namespace } = facts;
  return about(facts.template, (live) => {
    if (live === undefined)
      return problem(
        `ConfigMap ${namespace}/${configmap} does not exist`,
        'create it, or restart the operator',
      );
    const advice = 'correct the ConfigMap: kubectl apply --dry-run=server lists the faults';
    if (live.set === undefined)
      return problem(`${firstOf(live.faults)}: pods get the last valid template, if there was one`, advice);
    // `check` shows the hash of each.
    return ok(`sha256 ${live.set.hash.slice(0, 12)}, the hash of all templates`);
  });
}

function networks(facts: StatusFacts): CheckResult {
  return about(facts.networks, (all) => {
    if (all === undefined)
      return problem('no CustomResourceDefinition of Networks', 'apply crd/ of the operator');
    if (all.length === 0) return none('there are none');
    const bad = all.filter(({ reason }) => reason !== undefined);
    if (bad.length === 0) return ok(`${count(all.length, 'Network')}, all Ready`);
    const [first] = bad;
    const names = firstOf(bad.map(({ key, reason }) => `${key}: ${reason}`));
    const [namespace, name] = (first?.key ?? '').split('/');
    return problem(
      `${bad.length} of ${count(all.length, 'Network')} with a problem (${names})`,
      `${CALLED_AS} check network/${name} --namespace ${namespace}`,
    );
  });
}

/** The number of Networks of the provider multus, as far as they are known. */
function networksOfMultus({ networks }: StatusFacts): number {
  const all = 'value' in networks ? (networks.value ?? []) : [];
  return all.filter(({ provider }) => provider === 'multus').length;
}

function multus(facts: StatusFacts): CheckResult {
  return about(facts.hasAttachments, (isInstalled) => {
    if (isInstalled) return ok('the API server has NetworkAttachmentDefinitions');
    const waiting = networksOfMultus(facts);
    if (waiting === 0) return none('not installed: Networks of provider multus need it');
    return problem(`not installed, but needed by ${count(waiting, 'Network')}`, 'install Multus');
  });
}

function nodeAgents(facts: StatusFacts): CheckResult {
  return about(facts.installation, () => {
    const namespace = flag(facts, 'node-agent-namespace');
    if (namespace === undefined) {
      const waiting = networksOfMultus(facts);
      if (waiting === 0) return none('off (--node-agent-namespace)');
      return problem(
        `off (--node-agent-namespace), but needed by ${count(waiting, 'Network')}`,
        'apply deploy/overlays/networks',
      );
    }
    return about(facts.nodeAgents, (agents) => {
      if (agents === undefined)
        return problem('their DaemonSet does not exist', 'apply deploy/overlays/networks');
      const advice = `see ${kubectl(namespace, 'get pods')} and the logs`;
      const text = `${agents.ready} of ${agents.wanted} ready`;
      return agents.ready < agents.wanted ? problem(text, advice) : ok(text);
    });
  });
}

/** A pod that waits shorter than this may be about to start. */
const PATIENCE_MS = 60_000;

function waiting({ pods, now }: StatusFacts): CheckResult {
  return about(pods, ({ waiting: all }) => {
    const long = all.filter(({ created }) => now - Date.parse(created) > PATIENCE_MS);
    const [first] = long;
    if (first === undefined)
      return ok(all.length === 0 ? 'none' : `${count(all.length, 'pod')}, for under a minute`);
    const [namespace, name] = first.key.split('/');
    return problem(
      `${count(long.length, 'pod')} waiting for Networks (${firstOf(long.map(({ key }) => key))})`,
      `${CALLED_AS} check pod/${name} --namespace ${namespace}`,
    );
  });
}

function pods(facts: StatusFacts): CheckResult {
  return about(facts.pods, ({ drifted, count: all }) => {
    const counts = new Map<string, number>();
    for (const { sidecar } of drifted) counts.set(sidecar, (counts.get(sidecar) ?? 0) + 1);
    const text = Array.from(counts, ([sidecar, n]) => `${n} ${sidecar}`).join(', ');
    if (drifted.length === 0) return ok(`no drift in ${count(all, 'pod')}`);
    if (rolloutOf(facts) && drifted.every(({ sidecar }) => sidecar === 'stale'))
      return note(`${text}, of ${count(all, 'pod')}: ${CALLED_AS} rollout shows how it goes on`);
    return problem(`${text}, of ${count(all, 'pod')}`, `${CALLED_AS} drift -A lists them`);
  });
}

function skipped(facts: StatusFacts): CheckResult {
  return about(facts.pods, ({ skipped: reasons }) => {
    if (reasons.size === 0) return ok('none');
    const text = Array.from(reasons, ([reason, n]) => `${reason}: ${n}`).join(', ');
    return problem(
      `pods asked for a sidecar and got none (${text})`,
      `${CALLED_AS} check -A names them; see docs/troubleshooting.md`,
    );
  });
}
