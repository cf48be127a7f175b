import { OLDEST_MINOR } from '../../operator/server-version.ts';
import { counted } from '../../util/clip.ts';
import { PROGRAM } from '../../util/identity.ts';
import { CALLED_AS } from '../io/terminal.ts';
import type { Read, StatusFacts } from './facts.ts';
import {
  about,
  type CheckResult,
  firstOf,
  flag,
  none,
  note,
  ok,
  problem,
  rolloutOf,
  type StatusRow,
} from './rows.ts';

type Row = (facts: StatusFacts) => CheckResult;

/** The lines of `status`: the operator itself and how the API server calls it, and what it does in the cluster. */
export function statusRows(facts: StatusFacts, ofAddOns: readonly StatusRow[]): readonly StatusRow[] {
  const rowsOf = (table: Readonly<Record<string, Row>>) =>
    Object.entries(table).map(([check, judge]) => ({ check, ...judge(facts) }));
  const rows = [...rowsOf(OF_OPERATOR), ...ofAddOns, ...rowsOf(OF_CLUSTER)];
  if (isInstalled(facts)) return rows;
  return rows.map((row) =>
    ALWAYS.includes(row.check) ? row : { check: row.check, ...none('not installed') },
  );
}

/** What is known also of a cluster without the operator. */
const ALWAYS = ['server', 'replicas', 'multus'];

/** False if none of the operator's objects exist; what may not be read may exist. */
function isInstalled({ installation, webhooks, networks }: StatusFacts): boolean {
  const exists = (read: Read<unknown>) => 'unreadable' in read || read.value !== undefined;
  const hasWebhooks =
    'unreadable' in webhooks || Object.values(webhooks.value).some((list) => list !== undefined);
  return exists(installation) || hasWebhooks || exists(networks);
}

const kubectl = (namespace: string, rest: string): string => `kubectl --namespace ${namespace} ${rest}`;

/** A lease that is not renewed for this long has no holder that runs. */
const LEASE_MS = 60_000;

/** A released lease has its next holder within seconds. */
const RELEASED_MS = 15_000;

/** The operator itself, and how the API server calls it. */
const OF_OPERATOR: Readonly<Record<string, Row>> = {
  server({ server: version }) {
    const [, minor] = /^v1\.(\d+)/.exec(version) ?? [];
    if (minor !== undefined && Number(minor) < OLDEST_MINOR)
      return problem(`Kubernetes ${version}`, `upgrade the cluster to Kubernetes 1.${OLDEST_MINOR} or newer`);
    return ok(`Kubernetes ${version}`);
  },
  replicas(facts) {
    const { installation, replicas: pods, namespace } = facts;
    return about(installation, (found) => {
      if (found === undefined) {
        // To which the webhooks send pods, unless they have a URL.
        const { mutating = [], validating = [] } = 'value' in facts.webhooks ? facts.webhooks.value : {};
        const [other] = [...mutating, ...validating].flatMap((webhook) => webhook.namespace ?? []);
        const named = other === undefined || other === namespace ? '' : `=${other}`;
        const advice = `use --operator-namespace${named}, or install the operator`;
        return problem(`no Deployment ${PROGRAM} in namespace ${namespace}`, advice);
      }
      const text = `${found.readyReplicas} of ${found.replicas} ready, image ${found.image}`;
      if (found.replicas === 0)
        return problem(text, kubectl(namespace, `scale deployment ${PROGRAM} --replicas=2`));
      const advice = `see ${kubectl(namespace, 'describe pods')} and the logs`;
      const unready = 'value' in pods ? pods.value.filter(({ ready }) => !ready) : [];
      if (found.readyReplicas >= found.replicas) {
        // Pods of the version before are ready, and keep an update that fails from being seen.
        const failing = unready.flatMap(({ name, trouble }) =>
          trouble === '' || trouble === 'ContainerCreating' ? [] : [`${name}: ${trouble}`],
        );
        return failing.length === 0
          ? ok(text)
          : problem(`${text}, but others fail (${firstOf(failing)})`, advice);
      }
      const why = unready.map(({ name, trouble }) => `${name}: ${trouble}`);
      return problem(why.length > 0 ? `${text} (${firstOf(why)})` : text, advice);
    });
  },
  leader: ({ installation, lease, now }) =>
    about(lease, (found) => {
      if (flag({ installation }, 'leader-elect') === 'false') return none('off (--leader-elect=false)');
      const { holderIdentity: holder = '', renewTime = '' } = found?.spec ?? {};
      const hasReplicas = 'unreadable' in installation || (installation.value?.readyReplicas ?? 0) > 0;
      const advice = hasReplicas ? 'see "request for the lease failed" in the log' : 'see replicas';
      const age = now - Date.parse(renewTime);
      if (holder === '' && age < RELEASED_MS)
        return note('election in progress: the previous leader released its lease');
      if (holder === '') return problem('no leader', advice);
      // The holder is the name of the pod and a random part.
      const name = holder.replace(/_[^_]*$/, '');
      if (age > LEASE_MS) return problem(`${name}, not renewed for ${Math.round(age / 1000)} s`, advice);
      return ok(name);
    }),
  webhooks: ({ webhooks }) =>
    about(webhooks, ({ mutating, validating }) => {
      const missing = [
        ...(mutating === undefined ? ['MutatingWebhookConfiguration'] : []),
        ...(validating === undefined ? ['ValidatingWebhookConfiguration'] : []),
      ];
      const again = "apply the operator's manifests again";
      if (missing.length > 0) return problem(`no ${missing.join(' and no ')}`, again);
      const all = [...(mutating ?? []), ...(validating ?? [])];
      const bare = all.filter(({ hasBundle }) => !hasBundle).map(({ name }) => name);
      const advice = 'see "Pods are refused with x509" in docs/troubleshooting.md';
      if (bare.length > 0) return problem(`no caBundle: ${firstOf(bare)}`, advice);
      return ok(`${counted(all.length, 'webhook')}, each with its caBundle`);
    }),
  warnings: ({ warnings }) =>
    about(warnings, (counts) => {
      if (counts.size === 0) return ok('no recent Events');
      const said = Array.from(counts, ([reason, n]) => `${reason}: ${n}`).join(', ');
      return note(`recent Events (${said}): kubectl get events -A --field-selector type=Warning`);
    }),
  template(facts) {
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
  },
};

/** A pod that waits shorter than this may be about to start. */
const PATIENCE_MS = 60_000;

/** What it does in the cluster. */
const OF_CLUSTER: Readonly<Record<string, Row>> = {
  networks: ({ networks }) =>
    about(networks, (all) => {
      if (all === undefined)
        return problem('no CustomResourceDefinition for Networks', "apply the operator's crd/");
      if (all.length === 0) return none('there are none');
      const bad = all.filter(({ reason }) => reason !== undefined);
      if (bad.length === 0) return ok(`${counted(all.length, 'Network')}, all Ready`);
      const [first] = bad;
      const names = firstOf(bad.map(({ key, reason }) => `${key}: ${reason}`));
      const [namespace, name] = (first?.key ?? '').split('/');
      return problem(
        `${bad.length} of ${counted(all.length, 'Network')} with a problem (${names})`,
        `${CALLED_AS} check network/${name} --namespace ${namespace}`,
      );
    }),
  multus(facts) {
    return about(facts.hasAttachments, (isInstalled) => {
      if (isInstalled) return ok('the API server serves NetworkAttachmentDefinitions');
      const waiting = networksOfMultus(facts);
      if (waiting === 0) return none('not installed: Networks with provider multus need it');
      return problem(`not installed, but needed by ${counted(waiting, 'Network')}`, 'install Multus');
    });
  },
  'node agents'(facts) {
    return about(facts.installation, () => {
      const namespace = flag(facts, 'node-agent-namespace');
      if (namespace === undefined) {
        const waiting = networksOfMultus(facts);
        if (waiting === 0) return none('off (--node-agent-namespace)');
        return problem(
          `off (--node-agent-namespace), but needed by ${counted(waiting, 'Network')}`,
          'install component "networks" (docs/install.md)',
        );
      }
      return about(facts.nodeAgents, (agents) => {
        if (agents === undefined)
          return problem('their DaemonSet does not exist', 'install component "networks" (docs/install.md)');
        const advice = `see ${kubectl(namespace, 'get pods')} and the logs`;
        const text = `${agents.ready} of ${agents.wanted} ready`;
        return agents.ready < agents.wanted ? problem(text, advice) : ok(text);
      });
    });
  },
  'waiting pods': ({ pods, now }) =>
    about(pods, ({ waiting: all }) => {
      const long = all.filter(({ created }) => now - Date.parse(created) > PATIENCE_MS);
      const [first] = long;
      if (first === undefined)
        return ok(all.length === 0 ? 'none' : `${counted(all.length, 'pod')}, for under a minute`);
      const [namespace, name] = first.key.split('/');
      return problem(
        `${counted(long.length, 'pod')} waiting for Networks (${firstOf(long.map(({ key }) => key))})`,
        `${CALLED_AS} check pod/${name} --namespace ${namespace}`,
      );
    }),
  pods(facts) {
    return about(facts.pods, ({ drifted, count: all }) => {
      const bySidecar = Map.groupBy(drifted, ({ sidecar }) => sidecar);
      const text = Array.from(bySidecar, ([sidecar, found]) => `${found.length} ${sidecar}`).join(', ');
      if (drifted.length === 0) return ok(`no drift in ${counted(all, 'pod')}`);
      if (rolloutOf(facts) && drifted.every(({ sidecar }) => sidecar === 'stale'))
        return note(`${text}, of ${counted(all, 'pod')}: ${CALLED_AS} rollout shows them`);
      return problem(`${text}, of ${counted(all, 'pod')}`, `${CALLED_AS} drift -A lists them`);
    });
  },
  'skipped pods': ({ pods }) =>
    about(pods, ({ skipped: reasons }) => {
      if (reasons.size === 0) return ok('none');
      const text = Array.from(reasons, ([reason, n]) => `${reason}: ${n}`).join(', ');
      return problem(
        `pods asked for a sidecar and got none (${text})`,
        `${CALLED_AS} check -A names them; see docs/troubleshooting.md`,
      );
    }),
};

/** The number of Networks of the provider multus, as far as they are known. */
function networksOfMultus({ networks }: StatusFacts): number {
  const all = 'value' in networks ? (networks.value ?? []) : [];
  return all.filter(({ provider }) => provider === 'multus').length;
}
