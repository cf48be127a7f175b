import { MUTATING_WEBHOOK_CONFIGURATIONS, WEBHOOK_CONFIGURATIONS } from '../kube/api/core-resources.ts';
import { type KubeObject, keyOf } from '../kube/api/object.ts';
import { metadataOf, type Resource, regardingOf } from '../kube/api/resource.ts';
import type { Manager } from '../kube/manager/manager.ts';
import { metricsIn } from '../kube/prometheus/index.ts';
import { PROGRAM } from '../util/identity.ts';
import { configurationMismatches, type SelectionFlags } from './configuration-mismatch.ts';
import type { OperatorOptions } from './core.ts';

/** The flags of `serve` that say what is installed. */
export type DependencyOptions = SelectionFlags &
  Pick<OperatorOptions, 'namespace' | 'webhookUrl' | 'kubeconfig' | 'nodeAgentNamespace'>;

/** An object that the operator needs and does not restore, and what holds while it is missing. */
type Dependency = ReturnType<typeof dependenciesOf>[number];

const PERIOD_MS = 10_000;
const OF_PROGRAM = { fieldSelector: `metadata.name=${PROGRAM}` };
const SERVICES = metadataOf('v1', 'Service');
/** A policy without its binding has no effect. */
const POLICY_KINDS = ['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'].map((kind) =>
  metadataOf('admissionregistration.k8s.io/v1', kind, false),
);
const WEBHOOKS: Readonly<Record<string, string>> = {
  MutatingWebhookConfiguration: 'new pods get no sidecar and no Network',
  ValidatingWebhookConfiguration: 'templates and routes are not checked when they are applied',
};
const UNCALLED = 'the webhook gets no calls, so pods with their own opt-in are refused';
/** By the end of their names. */
const POLICIES = {
  fence: 'only RBAC limits what the operator may write',
  'network-addresses': 'users can change the addresses of pods on Networks',
  'network-status':
    'users with rights for Networks can write .status, on which node agents act, and remove finalizers',
  'opt-in': 'misplaced opt-ins cause no warning',
  routes: 'users can change and delete the routes of sidecars',
};
const NODE_AGENT_POLICIES = {
  'node-agent': 'a node agent can write the reports of other nodes',
  'network-ports': "users can attach their pods to other users' ports",
};

/**
 * Watches what the operator needs and does not restore, on every replica. What is missing at two looks is shown by a
 * metric, an Event, the log and a line of `/readyz`. The replica stays ready, because no other one would do better.
 */
export function setUpDependencies(manager: Manager, options: DependencyOptions): void {
  const { log, events, registry } = manager;
  const gauge = metricsIn(registry).gauge(
    [
      'envoy_initializer_dependency_present',
      '1 if an object that the operator needs and does not restore exists, else 0',
    ],
    'kind',
    'name',
  );
  const dependencies = dependenciesOf(manager, options);
  const looksWithout = new Map<Dependency, number>();
  const look = async () => {
    for (const dependency of dependencies.filter(({ informer }) => informer.hasSynced())) {
      const { object, effect, informer } = dependency;
      const labels = { kind: object.kind, name: object.metadata.name };
      const before = looksWithout.get(dependency) ?? 0;
      const looks = informer.lister.get(keyOf(object)) ? 0 : before + 1;
      looksWithout.set(dependency, looks);
      gauge.set(labels, looks < 2 ? 1 : 0);
      if (looks === 0 && before >= 2) log.info(labels, 'missing object restored');
      if (looks !== 2) continue;
      log.error({ ...labels, effect }, 'object is missing: restore it');
      const note = `The ${labels.kind} is missing: ${effect}. Restore it, for example by applying the operator's manifests`;
      events.event(object, { type: 'Warning', reason: 'DependencyMissing', action: 'Watch', note });
    }
  };
  manager.everyReplica('dependencies', look, { everyMs: PERIOD_MS });
  manager.addReadyzWarning('dependencies', () => {
    const missing = dependencies.filter((each) => (looksWithout.get(each) ?? 0) >= 2);
    const names = missing.map(({ object: { kind, metadata } }) => `${kind} ${metadata.name}`);
    return names.length === 0 ? undefined : `missing: ${names.join(', ')}`;
  });
  followFlags(manager, options);
}

function dependenciesOf(manager: Manager, options: DependencyOptions) {
  const { namespace, webhookUrl, kubeconfig, nodeAgentNamespace } = options;
  const policies = { ...POLICIES, ...(nodeAgentNamespace !== undefined && NODE_AGENT_POLICIES) };
  const ofProgram = (
    resource: Resource<KubeObject>,
    effect = '',
    at: { readonly namespace?: string } = {},
  ) => ({
    object: regardingOf(resource, { metadata: { ...at, name: PROGRAM } }),
    effect,
    informer: manager.informer(resource, { ...at, ...OF_PROGRAM }),
  });
  return [
    ...WEBHOOK_CONFIGURATIONS.map((resource) => ofProgram(resource, WEBHOOKS[resource.kind])),
    ...POLICY_KINDS.flatMap((resource) => {
      const informer = manager.informer(resource, { labelSelector: `app=${PROGRAM}` });
      return Object.entries(policies).map(([end, effect]) => {
        const metadata = { name: `${PROGRAM}-${end}` };
        return { object: regardingOf(resource, { metadata }), effect, informer };
      });
    }),
    // A webhook that is called by an address needs none, as that of a process outside of the cluster.
    ...(webhookUrl === undefined && kubeconfig === undefined
      ? [ofProgram(SERVICES, UNCALLED, { namespace })]
      : []),
  ];
}

/** Logs which flags the MutatingWebhookConfiguration does not follow, after each change. */
function followFlags(manager: Manager, flags: SelectionFlags): void {
  let logged = '';
  const changed = (configuration: KubeObject) => {
    const mismatches = configurationMismatches(configuration, flags);
    const name = configuration.metadata.name;
    if (mismatches.join() !== logged)
      for (const mismatch of mismatches)
        manager.log.warn({ configuration: name }, `flag mismatch: ${mismatch}`);
    logged = mismatches.join();
  };
  manager
    .informer(MUTATING_WEBHOOK_CONFIGURATIONS, OF_PROGRAM)
    .addEventHandler({ onAdd: changed, onUpdate: (_, current) => changed(current) });
}
