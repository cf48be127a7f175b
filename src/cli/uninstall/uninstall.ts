import { Option } from 'commander';
import { keysFor } from '../../injection/keys.ts';
import { ifFound } from '../../kube/api/api-error.ts';
import { NAMESPACES } from '../../kube/api/core-resources.ts';
import type { KubeObject } from '../../kube/api/object.ts';
import { metadataOf, type Resource } from '../../kube/api/resource.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { UsageError } from '../../kube/util/errors.ts';
import { systemClock } from '../../kube/workqueue/clock.ts';
import { NODE_IPAM, NODE_OVS } from '../../networks/api/names.ts';
import { ANY_NETWORKS } from '../../networks/api/resources.ts';
import { PROGRAM } from '../../util/identity.ts';
import { type CommandContext, type SetUpCommand, toolsOf } from '../add-on.ts';
import { withCluster } from '../cluster.ts';
import type { ExitCode } from '../io/terminal.ts';
import { duration } from '../options/option-values.ts';
import { serveOption } from '../options/serve-options.ts';
import {
  addConnectionOptions,
  type ConnectionOptions,
  operatorNamespaceOption,
} from '../options/tool-options.ts';
import { deleteNetworks, isLed, liftGates, named, removeCopies, sayWhatStays } from './leftovers.ts';
import { OURS, objectsOf, Remover } from './remover.ts';

interface UninstallOptions extends ConnectionOptions {
  readonly operatorNamespace: string;
  readonly annotation: string;
  readonly force: boolean;
  /** The limit of each wait, in milliseconds. */
  readonly timeout: number;
}

/** Limits the operator's account to its own objects while the account has rights. */
const FENCE = `${PROGRAM}-fence`;
/** The namespace of node agents. They stay until all Networks are gone, and remove their bridges, tunnels and rules at once. */
const NODE_AGENTS = `${PROGRAM}-node-agent`;
const WITHOUT_OPERATOR =
  'Bridges with pods then stay until the node restarts, and networks in OpenStack until you delete them';
/** What node agents do not remove. */
const ON_NODES = `the CNI plugins that node agents installed (also ${NODE_IPAM} and ${NODE_OVS}) stay in /opt/cni/bin; /run/envoy-initializer stays until the node restarts`;
const NETWORK_CRD = 'networks.samplecrd.k8s.io';

/** Kinds of one group, of objects without or with a namespace. */
const clusterKinds = (apiVersion: string, ...kinds: readonly string[]) =>
  kinds.map((kind) => metadataOf(apiVersion, kind, false));
const kinds = (apiVersion: string, ...names: readonly string[]) =>
  names.map((kind) => metadataOf(apiVersion, kind));

const ADMISSION = 'admissionregistration.k8s.io/v1';
const RBAC = 'rbac.authorization.k8s.io/v1';
const FENCES = clusterKinds(ADMISSION, 'ValidatingAdmissionPolicyBinding', 'ValidatingAdmissionPolicy');
/** What could block pods and other objects. */
const BLOCKING = [
  ...clusterKinds(ADMISSION, 'MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration'),
  ...clusterKinds(ADMISSION, 'MutatingAdmissionPolicyBinding', 'MutatingAdmissionPolicy'),
  ...FENCES,
];
const DEPLOYMENT = metadataOf('apps/v1', 'Deployment');
/** What is deleted one by one in a namespace that is not the operator's own. */
const IN_NAMESPACE = [
  ...kinds('cert-manager.io/v1', 'Certificate', 'Issuer'),
  ...kinds('monitoring.coreos.com/v1', 'PodMonitor', 'PrometheusRule'),
  ...kinds('policy/v1', 'PodDisruptionBudget'),
  ...kinds('networking.k8s.io/v1', 'NetworkPolicy'),
  ...kinds('apps/v1', 'ControllerRevision'),
  ...kinds(RBAC, 'RoleBinding', 'Role'),
  ...kinds('v1', 'Service', 'ServiceAccount', 'Secret'),
];
/** Objects without the label. */
const UNLABELLED: readonly (readonly [kind: Resource<KubeObject>, name: string])[] = [
  [metadataOf('v1', 'ConfigMap'), PROGRAM],
  [metadataOf('v1', 'ConfigMap'), 'envoy'],
  [metadataOf('coordination.k8s.io/v1', 'Lease'), PROGRAM],
];
const CLUSTER_ROLES = clusterKinds(RBAC, 'ClusterRoleBinding', 'ClusterRole');
const CRD = metadataOf('apiextensions.k8s.io/v1', 'CustomResourceDefinition', false);

/**
 * Removes the operator and all its objects in a safe order: first what could block pods, last what gives the operator
 * its rights. It ignores what does not exist, so it can run again after a failure.
 * @throws UsageError without changes if the operator is in another namespace, or if Networks exist and `force` is false;
 * and if a deletion does not end in time
 */
export async function run(
  { terminal, addOns }: CommandContext,
  options: UninstallOptions,
): Promise<ExitCode> {
  const { force, timeout: timeoutMs, operatorNamespace: namespace } = options;
  return await withCluster<ExitCode>(options, async ({ client }) => {
    let lines = 0;
    const say = (line: string) => {
      lines += 1;
      terminal.out(`${line}\n`);
    };
    const remover = new Remover(client, systemClock, timeoutMs, say);
    await requireNamespace(client, namespace);
    await removeNetworks(remover, namespace, force);
    // With its pods, which then write nothing more.
    await remover.removeAll(DEPLOYMENT, { ...OURS, namespace }, 'Foreground');
    // The operator may have created some in the meantime.
    await unblock(remover);
    await liftGates(remover);
    await removeCopies(remover);
    const hadAgents = (await ifFound(client.get(NAMESPACES, { name: NODE_AGENTS }))) !== undefined;
    for (const name of [namespace, NODE_AGENTS]) await removeNamespace(remover, name);
    for (const kind of [...CLUSTER_ROLES, ...FENCES]) await remover.removeAll(kind, OURS);
    await remover.removeAll(CRD, { fieldSelector: `metadata.name=${NETWORK_CRD}` });
    if (lines === 0) say('nothing to remove');
    if (hadAgents) say(ON_NODES);
    await sayWhatStays(remover, namespace, keysFor(options.annotation).status, await toolsOf(addOns));
    return 0;
  });
}

/** @throws UsageError if the operator is in another namespace: without its roles and webhooks it would go on there */
async function requireNamespace(client: KubeClient, namespace: string): Promise<void> {
  const deployments = await objectsOf(client, DEPLOYMENT, {
    ...OURS,
    fieldSelector: `metadata.name=${PROGRAM}`,
  });
  const namespaces = deployments.map(({ metadata }) => metadata.namespace ?? '');
  const [other] = namespaces;
  if (other === undefined || namespaces.includes(namespace)) return;
  throw new UsageError(
    `the operator is in namespace ${other}, not in ${namespace}, so nothing was removed: use --operator-namespace=${other}`,
  );
}

/** Removes what could block pods, then Networks. */
async function removeNetworks(remover: Remover, namespace: string, force: boolean): Promise<void> {
  const networks = await objectsOf(remover.client, ANY_NETWORKS);
  if (networks.length === 0) return await unblock(remover);
  const hasOperator = await isLed(remover.client, namespace, systemClock);
  if (!force)
    throw new UsageError(
      `Networks exist (${named(networks)}), so nothing was removed: ${
        hasOperator
          ? 'delete them, or use --force (make undeploy FORCE=1): both also delete the real networks'
          : `no operator is leader in namespace ${namespace}, so deletion would hang: start one, or use --force to delete them without one. ${WITHOUT_OPERATOR}`
      }`,
    );
  await unblock(remover);
  if (!hasOperator)
    remover.say(
      `no operator is leader in namespace ${namespace}: removing the finalizers. ${WITHOUT_OPERATOR}`,
    );
  await deleteNetworks(remover, hasOperator);
}

async function unblock(remover: Remover): Promise<void> {
  for (const kind of BLOCKING)
    await remover.removeAll(kind, { ...OURS, fieldSelector: `metadata.name!=${FENCE}` });
}

/** Deletes a namespace of the manifests, or in any other one only the operator's objects. */
async function removeNamespace(remover: Remover, name: string): Promise<void> {
  const { client } = remover;
  const found = await ifFound(client.get(NAMESPACES, { name }));
  if (found === undefined) return;
  if (found.metadata.labels?.app === PROGRAM)
    return await remover.removeAll(NAMESPACES, { fieldSelector: `metadata.name=${name}` });
  for (const kind of IN_NAMESPACE) await remover.removeAll(kind, { ...OURS, namespace: name });
  for (const [kind, object] of UNLABELLED)
    await remover.removeAll(kind, { namespace: name, fieldSelector: `metadata.name=${object}` });
}

export const setUpCommand: SetUpCommand = (command) => {
  command
    .option(
      '--force',
      "also delete users' Networks; without a running operator, remove their finalizers",
      false,
    )
    .addOption(
      new Option('--timeout <duration>', 'timeout for each wait').argParser(duration).default(180_000, '3m'),
    );
  addConnectionOptions(command).addOption(operatorNamespaceOption()).addOption(serveOption('annotation'));
};
