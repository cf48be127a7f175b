import { PROGRAM } from '../../util/identity.ts';
import type { StatusFacts } from './facts.ts';
import {
  about,
  type CheckResult,
  count,
  firstOf,
  kubectl,
  metricsOf,
  noMetrics,
  note,
  ok,
  problem,
  type StatusRow,
  serverVerdict,
  unknown,
} from './rows.ts';

/** The operator itself, and how the API server calls it. */
export function operatorRows(facts: StatusFacts): readonly StatusRow[] {
  return [
    { check: 'server', ...serverVerdict(facts.server) },
    { check: 'version', ...versions(facts) },
    { check: 'replicas', ...replicas(facts) },
    { check: 'leader', ...leader(facts) },
    { check: 'reconciles', ...reconciles(facts) },
    { check: 'certificate', ...certificate(facts) },
    { check: 'webhooks', ...webhooks(facts) },
  ];
}

/** The versions of the operator's replicas, without duplicates. */
export function operatorVersions(facts: StatusFacts): readonly string[] {
  const found = metricsOf(facts).flatMap((metrics) =>
    metrics.of('envoy_initializer_build_info').flatMap(({ labels }) => labels.version ?? []),
  );
  return [...new Set(found)].sort();
}

function versions(facts: StatusFacts): CheckResult {
  const running = operatorVersions(facts);
  const image = 'value' in facts.installation ? facts.installation.value?.image : undefined;
  if (running.length === 0) return image === undefined ? noMetrics(facts) : ok(`image ${image}`);
  const text = `${running.join(', ')}; this command is ${facts.client}`;
  if (running.length === 1) return ok(text);
  const advice = `wait for its update to finish, or see ${kubectl(facts.namespace, 'rollout status deployment')}`;
  return problem(text, advice);
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
    const text = `${found.readyReplicas} of ${found.replicas} ready`;
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
    const why = unready.map(
      ({ name, trouble, notReady }) => `${name}: ${notReady.length > 0 ? notReady.join(', ') : trouble}`,
    );
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
  return about(lease, (record) => {
    const hasReplicas = 'unreadable' in installation || (installation.value?.readyReplicas ?? 0) > 0;
    const advice = hasReplicas ? 'read the log: "request for the lease failed"' : 'see replicas';
    if (record?.holder === '' && now - Date.parse(record.renewTime ?? '') < RELEASED_MS)
      return note('none right now: the last one has released the lease');
    if (record === undefined || record.holder === '') return problem('no replica leads', advice);
    // The holder is the name of the pod and a random part.
    const name = record.holder.replace(/_[^_]*$/, '');
    const age = now - Date.parse(record.renewTime ?? '');
    if (age > LEASE_MS) return problem(`${name}, not renewed for ${Math.round(age / 1000)} s`, advice);
    return ok(name);
  });
}

/** The watchdog of the operator gives up after some minutes without a heartbeat. */
const HEARTBEAT_SECONDS = 180;

function reconciles(facts: StatusFacts): CheckResult {
  const pages = metricsOf(facts);
  const beats = pages.flatMap((metrics) =>
    metrics.of('envoy_initializer_controller_heartbeat_timestamp_seconds'),
  );
  if (pages.length === 0) return noMetrics(facts);
  const age = facts.now / 1000 - Math.min(...beats.map(({ value }) => value));
  const advice = 'see "Reconciles fail" in docs/troubleshooting.md';
  if (age > HEARTBEAT_SECONDS)
    return problem(`controller stalled: no heartbeat for ${Math.round(age)} s`, advice);
  const read = 'value' in facts.replicas ? facts.replicas.value.map((replica) => replica.failing) : [];
  const failing = read.flatMap((each) => ('value' in each ? each.value : []));
  if (failing.length > 0) return problem(`reconciles fail: ${firstOf(failing)}`, advice);
  const [unread] = read.flatMap((each) => ('unreadable' in each ? [each.unreadable] : []));
  if (unread !== undefined) return unknown(`no replica shows what fails: ${unread}`);
  const last = pages.flatMap((metrics) =>
    metrics.of('envoy_initializer_controller_last_reconcile_timestamp_seconds').map(({ value }) => value),
  );
  return ok(last.length > 0 ? `the last one at ${isoTime(Math.max(...last))}` : 'none was needed');
}

const DAY_SECONDS = 86_400;
/** The operator renews certificates long before. */
const SOON_DAYS = 14;

function certificate(facts: StatusFacts): CheckResult {
  const pages = metricsOf(facts);
  if (pages.length === 0) return noMetrics(facts);
  const ends = pages.flatMap((metrics) =>
    metrics.of('envoy_initializer_certificate_expiration_timestamp_seconds').map(({ value }) => value),
  );
  if (ends.length === 0) return unknown('no replica has a certificate yet');
  const end = Math.min(...ends);
  const days = (end - facts.now / 1000) / DAY_SECONDS;
  const text = `ends at ${isoTime(end)}`;
  return days < SOON_DAYS ? problem(text, 'see "Replace the certificates" in docs/security.md') : ok(text);
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
    const gone = metricsOf(facts)
      .flatMap((metrics) => metrics.of('envoy_initializer_dependency_present'))
      .flatMap(({ labels: { kind, name }, value }) => (value === 0 ? [`${kind} ${name}`] : []));
    if (gone.length > 0) return problem(`missing: ${firstOf([...new Set(gone)])}`, again);
    const outOfSync = metricsOf(facts).some(
      (metrics) => metrics.value('envoy_initializer_ca_bundle_in_sync') === 0,
    );
    return outOfSync
      ? problem('a caBundle does not match the certificate', advice)
      : ok(`${count(all.length, 'webhook')}, each with its caBundle`);
  });
}

function isoTime(seconds: number): string {
  return new Date(seconds * 1000).toISOString();
}
