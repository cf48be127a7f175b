import { isReady } from '../../injection/podspec/pod.ts';
import { parseTemplateConfigMap } from '../../injection/template/template-set.ts';
import { ApiError, ifFound, ifReadable, isForbidden, TransportError } from '../../kube/api/api-error.ts';
import { CONFIG_MAPS, LIVE_PODS, PODS, WEBHOOK_CONFIGURATIONS } from '../../kube/api/core-resources.ts';
import { keyOf } from '../../kube/api/object.ts';
import { kindOf } from '../../kube/api/resource.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { isServed } from '../../kube/client/discovery.ts';
import { readServerVersion } from '../../kube/client/server-version.ts';
import { EVENTS } from '../../kube/events/events.ts';
import { LEASES } from '../../kube/leaderelection/lease.ts';
import { UsageError } from '../../kube/util/errors.ts';
import { conditionOf } from '../../networks/api/conditions.ts';
import { ANY_NETWORKS, NETWORK_ATTACHMENT_DEFINITIONS } from '../../networks/api/resources.ts';
import { NETWORK } from '../../networks/api/types.ts';
import { formatInText } from '../../util/diagnostic.ts';
import { PROGRAM } from '../../util/identity.ts';
import { isObject, own, ownObjects, ownString } from '../../util/json.ts';
import { misfit } from '../../util/shape.ts';
import { readDeployment } from '../installation.ts';
import type { ClusterOptions } from '../options/tool-options.ts';
import { type SurveyParts, surveyBasis, surveyPods } from '../survey.ts';

/** What was read; or why it could not be read, such as a missing right. */
export type Read<T> = { readonly value: T } | { readonly unreadable: string };

/** What `status` knows about an installation. */
export type StatusFacts = Readonly<Awaited<ReturnType<typeof readStatus>>>;

/** Reads what `status` judges. What the user may not read is noted, but a server that does not answer is an error. */
export async function readStatus(
  client: KubeClient,
  options: ClusterOptions & { readonly requireAnnotation: boolean },
  tools: readonly SurveyParts[],
) {
  const { operatorNamespace: namespace, configmap } = options;
  const { gitVersion: server } = await readServerVersion(client);
  const deployment = readDeployment(client, namespace);
  const installation = await tried(() => deployment);
  const known = 'value' in installation ? installation.value : undefined;
  const [replicas, lease, webhooks, warnings, template, hasAttachments, nodeAgents, networks, pods] =
    await Promise.all([
      tried(() => readReplicas(client, namespace)),
      tried(() => ifFound(client.get(LEASES, { namespace, name: PROGRAM }))),
      tried(() => readWebhooks(client)),
      tried(() => readWarnings(client)),
      tried(() => readTemplate(client, { namespace, name: configmap })),
      // The API server has the kind of Multus.
      tried(() => isServed(client, NETWORK_ATTACHMENT_DEFINITIONS)),
      tried(() => readNodeAgents(client, known?.flagText('node-agent-namespace'))),
      tried(() => readNetworks(client, known?.flagText('network-provider'))),
      tried(async () => {
        // By whose flags pods are judged: those of none only if the user may not read them.
        const basis = await surveyBasis(client, options, tools, await ifReadable(deployment));
        return await surveyPods(client, {}, basis);
      }),
    ]);
  const read = { replicas, lease, webhooks, warnings, template, hasAttachments, nodeAgents, networks, pods };
  return { now: Date.now(), server, namespace, configmap, installation, ...read };
}

/** What was read; what the API server refuses is a text. */
export async function tried<T>(read: () => Promise<T>): Promise<Read<T>> {
  try {
    return { value: await read() };
  } catch (err) {
    if (isForbidden(err))
      return { unreadable: `you are not allowed to read this: ${(err as ApiError).message}` };
    const isKnown = err instanceof ApiError || err instanceof TransportError || err instanceof UsageError;
    if (isKnown) return { unreadable: err.message };
    throw err;
  }
}

/** The operator's pods, but for those that end or have ended. */
async function readReplicas(client: KubeClient, namespace: string) {
  const selection = { namespace, labelSelector: `app=${PROGRAM}`, fieldSelector: LIVE_PODS };
  const pods = (await client.list(PODS, selection)).items.filter(isObject);
  return pods.flatMap((pod) => {
    const [metadata, status] = [own(pod, 'metadata'), own(pod, 'status')];
    if (own(metadata, 'deletionTimestamp') !== undefined) return [];
    const reasons = ownObjects(status, 'containerStatuses').flatMap(
      (container) => ownString(own(own(container, 'state'), 'waiting'), 'reason') ?? [],
    );
    /** Why its container does not run, such as ImagePullBackOff, or its phase. */
    const trouble = reasons[0] ?? ownString(status, 'phase') ?? '';
    return [{ name: ownString(metadata, 'name') ?? '', ready: isReady(pod), trouble }];
  });
}

/** The warnings of the operator that the API server still has, an hour in most clusters: how many Events of each reason. */
async function readWarnings(client: KubeClient): Promise<ReadonlyMap<string, number>> {
  const fieldSelector = `reportingController=${PROGRAM},type=Warning`;
  const { items } = await client.list(EVENTS, { fieldSelector });
  const byReason = Map.groupBy(items, (event) => ownString(event, 'reason') ?? '');
  return new Map(Array.from(byReason, ([reason, events]) => [reason, events.length]));
}

/** The webhooks of the two configurations; undefined for a configuration that does not exist. */
async function readWebhooks(client: KubeClient) {
  const [mutating, validating] = await Promise.all(
    WEBHOOK_CONFIGURATIONS.map(async (resource) => {
      const found: unknown = await ifFound(client.get(resource, { name: PROGRAM }));
      if (!isObject(found)) return undefined;
      return ownObjects(found, 'webhooks').map((webhook) => ({
        name: ownString(webhook, 'name') ?? '',
        hasBundle: Boolean(ownString(own(webhook, 'clientConfig'), 'caBundle')),
        /** Of its Service; undefined for one with a URL. */
        namespace: ownString(own(own(webhook, 'clientConfig'), 'service'), 'namespace'),
      }));
    }),
  );
  return { mutating, validating };
}

/** Undefined if its ConfigMap does not exist. Without a set, it is faulty. */
async function readTemplate(client: KubeClient, ref: { readonly namespace: string; readonly name: string }) {
  const found = await ifFound(client.get(CONFIG_MAPS, ref));
  if (found === undefined) return undefined;
  const parsed = parseTemplateConfigMap(found.data ?? {});
  const faults = 'faults' in parsed ? parsed.faults.map(formatInText) : [];
  const set = 'set' in parsed ? parsed.set : undefined;
  return { set, faults, annotations: found.metadata.annotations ?? {} };
}

/** Undefined if their DaemonSet does not exist. */
async function readNodeAgents(client: KubeClient, namespace: string | undefined) {
  if (namespace === undefined) return undefined;
  const ref = { namespace, name: `${PROGRAM}-node-agent` };
  const found: unknown = await ifFound(client.get(kindOf('apps/v1', 'DaemonSet'), ref));
  if (!isObject(found)) return undefined;
  const number = (field: string) => Number(own(own(found, 'status'), field) ?? 0);
  return { wanted: number('desiredNumberScheduled'), ready: number('numberReady') };
}

/** Undefined without the CustomResourceDefinition. */
async function readNetworks(client: KubeClient, byDefault = 'multus') {
  const found = await ifFound(client.list(ANY_NETWORKS, {}));
  return found?.items.map((item) => {
    const { metadata, status } = ANY_NETWORKS.decode(item);
    const wrong = misfit(item, NETWORK, 'Network');
    const ready = conditionOf(status?.conditions, 'Ready');
    const nodes = conditionOf(status?.conditions, 'NodesReady');
    const onNodes = nodes?.status === 'False' ? nodes.reason : undefined;
    return {
      key: keyOf({ metadata }),
      /** What the operator cannot read, or why it is not Ready, or not connected on its nodes; undefined if it is. */
      reason: wrong ?? (ready?.status === 'True' ? onNodes : (ready?.reason ?? 'not reconciled')),
      provider: ownString(own(item, 'spec'), 'provider') ?? byDefault,
    };
  });
}
