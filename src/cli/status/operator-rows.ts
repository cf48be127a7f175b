import { PROGRAM } from '../../util/identity.ts';
import type { StatusFacts } from './facts.ts';
import {
  about,
  type CheckResult,
  count,
  firstOf,
  kubectl,
  note,
  ok,
  problem,
  type StatusRow,
  serverVerdict,
} from './rows.ts';

/** The operator itself, and how the API server calls it. */
export function operatorRows(facts: StatusFacts): readonly StatusRow[] {
  return [
    { check: 'server', ...serverVerdict(facts.server) },
    { check: 'replicas', ...replicas(facts) },
    { check: 'leader', ...leader(facts) },
    { check: 'webhooks', ...webhooks(facts) },
    { check: 'warnings', ...warnings(facts) },
  ];
}

function replicas(facts: StatusFacts): CheckResult {
  const { installation, replicas: pods, namespace } = facts;
  return about(installation, (found) => {
    if (found === undefined) {
      const other = namespaceOfWebhooks(facts);
      const named = other === undefined || other === namespace ? '' : `=${other}`;
      const advice = `name its namespace with --operator-namespace${named}, or install the operator`;
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
}

/** The namespace to which the webhooks send pods; undefined if there are none, or they have a URL. */
function namespaceOfWebhooks({ webhooks }: StatusFacts): string | undefined {
  const { mutating = [], validating = [] } = 'value' in webhooks ? webhooks.value : {};
  return [...mutating, ...validating].flatMap(({ namespace }) => namespace ?? [])[0];
}

/** A lease that is not renewed for this long has no holder that runs. */
const LEASE_MS = 60_000;

/** A released lease has its next holder within seconds. */
const RELEASED_MS = 15_000;

function leader({ installation, lease, now }: StatusFacts): CheckResult {
  return about(lease, (found) => {
    const { holderIdentity: holder = '', renewTime = '' } = found?.spec ?? {};
    const hasReplicas = 'unreadable' in installation || (installation.value?.readyReplicas ?? 0) > 0;
    const advice = hasReplicas ? 'read the log: "request for the lease failed"' : 'see replicas';
    const age = now - Date.parse(renewTime);
    if (holder === '' && age < RELEASED_MS)
      return note('none right now: the last one has released the lease');
    if (holder === '') return problem('no replica leads', advice);
    // The holder is the name of the pod and a random part.
    const name = holder.replace(/_[^_]*$/, '');
    if (age > LEASE_MS) return problem(`${name}, not renewed for ${Math.round(age / 1000)} s`, advice);
    return ok(name);
  });
}

function webhooks(facts: StatusFacts): CheckResult {
  return about(facts.webhooks, ({ mutating, validating }) => {
    const missing = [
      ...(mutating === undefined ? ['MutatingWebhookConfiguration'] : []),
      ...(validating === undefined ? ['ValidatingWebhookConfiguration'] : []),
    ];
    const again = 'apply the manifests of the operator again';
    if (missing.length > 0) return problem(`no ${missing.join(' and no ')}`, again);
    const all = [...(mutating ?? []), ...(validating ?? [])];
    const bare = all.filter(({ hasBundle }) => !hasBundle).map(({ name }) => name);
    const advice = 'see "Pods are refused with x509" in docs/troubleshooting.md';
    if (bare.length > 0) return problem(`no caBundle: ${firstOf(bare)}`, advice);
    return ok(`${count(all.length, 'webhook')}, each with its caBundle`);
  });
}

function warnings(facts: StatusFacts): CheckResult {
  return about(facts.warnings, (counts) => {
    if (counts.size === 0) return ok('no Events of late');
    const said = Array.from(counts, ([reason, n]) => `${reason}: ${n}`).join(', ');
    return note(`Events of late (${said}): kubectl get events -A --field-selector type=Warning`);
  });
}
