import { isNotFound } from '../../kube/api/api-error.ts';
import { CONFIG_MAPS, ENDPOINT_SLICES, PODS, WEBHOOK_CONFIGURATIONS } from '../../kube/api/core-resources.ts';
import type { KubeObject } from '../../kube/api/object.ts';
import { apiVersionOf, type Resource, resourcePath } from '../../kube/api/resource.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { EVENTS } from '../../kube/events/event-object.ts';
import { NETWORK_ATTACHMENT_DEFINITIONS, NETWORKS } from '../../networks/api/resources.ts';
import { PROGRAM } from '../../util/identity.ts';
import { isObject, type JsonObject, type JsonValue, own, ownObjects, ownString } from '../../util/json.ts';
import { printBlock } from '../../util/yaml-edit/entries.ts';
import type { ReportedKind } from '../add-on.ts';
import type { Cluster } from '../cluster.ts';
import type { Installation } from '../installation.ts';
import { kindOf } from '../kind-of.ts';
import { ReplicaPages } from '../replica-pages.ts';
import { tried } from '../status/read-facts.ts';
import type { Redactor } from './redact.ts';
import type { ReportParts } from './report-parts.ts';

export interface CollectOptions {
  readonly redactor: Redactor;
  readonly cluster: Cluster;
  readonly namespace: string;
  readonly configmap: string;
  readonly installation: Installation | undefined;
  /** The kinds of add-ons. */
  readonly kinds: readonly ReportedKind[];
}

/** Objects of one kind: more are left out. */
const MAX_OBJECTS = 500;
/** Pods whose logs and pages are read. */
const MAX_PODS = 10;
const LOG = { tailLines: 10_000, limitBytes: 4 * 1024 * 1024, timestamps: true };

/** Of the operator's namespace, and of that of the node agents. */
const IN_NAMESPACE: readonly ReportedKind[] = [
  { resource: PODS },
  { resource: EVENTS },
  { resource: kindOf('v1', 'Service') },
  { resource: kindOf('apps/v1', 'Deployment') },
  { resource: kindOf('apps/v1', 'ReplicaSet') },
  { resource: kindOf('apps/v1', 'DaemonSet') },
  { resource: kindOf('coordination.k8s.io/v1', 'Lease') },
  { resource: ENDPOINT_SLICES },
  { resource: kindOf('networking.k8s.io/v1', 'NetworkPolicy') },
  { resource: kindOf('policy/v1', 'PodDisruptionBudget') },
];

/** Of the whole cluster. */
const IN_CLUSTER: readonly ReportedKind[] = [
  ...WEBHOOK_CONFIGURATIONS.map((resource) => ({ resource })),
  { resource: NETWORKS },
  { resource: NETWORK_ATTACHMENT_DEFINITIONS },
];

/** Adds objects, logs and pages of the operator, as far as the user may read them. */
export async function collect(parts: ReportParts, options: CollectOptions): Promise<void> {
  const { cluster, namespace, installation, redactor, kinds } = options;
  const from = { client: cluster.client, redactor };
  const agents = installation?.flagText('node-agent-namespace');
  const pages = new ReplicaPages(cluster, namespace, installation);
  const replicas = await noted(parts, 'pages', async () => (await pages.replicas()).map(({ name }) => name));
  await noted(parts, 'template', () => collectTemplate(parts, options));
  for (const pod of (replicas ?? []).slice(0, MAX_PODS)) await collectPages(parts, pages, pod, redactor);
  for (const each of new Set([namespace, ...(agents === undefined ? [] : [agents])])) {
    for (const kind of [...IN_NAMESPACE, ...kinds.filter(({ isOwn }) => isOwn)])
      await collectObjects(parts, from, kind, { namespace: each });
    await noted(parts, `logs of namespace ${each}`, () => collectLogs(parts, from, each));
  }
  for (const kind of [...IN_CLUSTER, ...kinds.filter(({ isOwn }) => !isOwn)])
    await collectObjects(parts, from, kind, {});
  await collectObjects(
    parts,
    from,
    { resource: EVENTS },
    { fieldSelector: `reportingController=${PROGRAM}` },
  );
}

/** Returns undefined if the user may not read it, which the archive notes. */
async function noted<T>(parts: ReportParts, what: string, read: () => Promise<T>): Promise<T | undefined> {
  const found = await tried(read);
  if ('value' in found) return found.value;
  parts.note(`${what}: ${found.unreadable}`);
  return undefined;
}

interface Source {
  readonly client: KubeClient;
  readonly redactor: Redactor;
}

async function collectObjects(
  parts: ReportParts,
  { client, redactor }: Source,
  { resource, holdsTemplates }: ReportedKind,
  scope: { readonly namespace?: string; readonly fieldSelector?: string },
): Promise<void> {
  const place = scope.namespace ?? 'cluster';
  const what = `${place}/${resource.plural}`;
  await noted(parts, what, async () => {
    const page = await client.list(resource, { ...scope, limit: MAX_OBJECTS }).catch((err: unknown) => {
      if (!isNotFound(err)) throw err;
    });
    if (!page) return parts.note(`${what}: this cluster does not have this kind`);
    const { items, continue: next } = page;
    if (next !== undefined) parts.note(`${what}: only the first ${MAX_OBJECTS}`);
    const objects = items.filter(isObject).map((item) => {
      const object = named(item, resource);
      return holdsTemplates ? redactor.templates(object) : redactor.object(object);
    });
    if (objects.length > 0)
      parts.add(`${what}.yaml`, objects.map((object) => `${printBlock(object, false)}\n`).join('---\n'));
  });
}

/** Items of lists do not name their kind. */
function named(item: JsonObject, resource: Resource<KubeObject>): JsonObject {
  return { ...item, apiVersion: apiVersionOf(resource), kind: resource.kind };
}

async function collectTemplate(
  parts: ReportParts,
  { cluster: { client }, namespace, configmap: name, redactor }: CollectOptions,
): Promise<void> {
  const found: unknown = await client.get(CONFIG_MAPS, { namespace, name });
  if (isObject(found))
    parts.add('template.yaml', `${printBlock(redactor.templates(named(found, CONFIG_MAPS)), false)}\n`);
}

async function collectPages(
  parts: ReportParts,
  pages: ReplicaPages,
  pod: string,
  redactor: Redactor,
): Promise<void> {
  for (const page of ['metrics', 'readyz?verbose', 'debug/controllers', 'debug/template']) {
    const name = page.replace(/\W+/g, '-');
    const found = await noted(parts, `pages/${pod}/${name}`, async () => {
      const text = await pages.text(pod, page);
      const isTemplate = page === 'debug/template';
      parts.add(`pages/${pod}/${name}.txt`, isTemplate ? templatePage(text, redactor) : redactor.text(text));
      return true;
    });
    // A pod that does not even show this one does not answer.
    if (page === 'metrics' && found === undefined) return;
  }
}

function templatePage(text: string, redactor: Redactor): string {
  const page: JsonValue = JSON.parse(text);
  return isObject(page) ? `${JSON.stringify(redactor.templates(page), null, 2)}\n` : '';
}

async function collectLogs(
  parts: ReportParts,
  { client, redactor }: Source,
  namespace: string,
): Promise<void> {
  const { items } = await client.list(PODS, { namespace });
  const pods = items.filter(isObject);
  if (pods.length > MAX_PODS) parts.note(`logs of namespace ${namespace}: only the first ${MAX_PODS} pods`);
  for (const pod of pods.slice(0, MAX_PODS)) {
    const name = ownString(own(pod, 'metadata'), 'name') ?? '';
    const path = resourcePath(PODS, { namespace, name }, 'log');
    for (const { file, ...query } of logsOf(pod)) {
      const place = `logs/${namespace}/${name}${file}.log`;
      await noted(parts, place, async () => {
        parts.add(place, redactor.text(await client.text(path, { query: { ...LOG, ...query } })));
      });
    }
  }
}

/** The logs of the containers, and of those that were restarted the previous ones. `file` ends the name of a file. */
function logsOf(pod: JsonObject) {
  const containers = ownObjects(own(pod, 'status'), 'containerStatuses');
  return containers.flatMap((status) => {
    const container = ownString(status, 'name');
    const file = containers.length > 1 ? `.${container}` : '';
    const current = { container, previous: false, file };
    const restarted = Number(own(status, 'restartCount') ?? 0) > 0;
    return restarted ? [current, { container, previous: true, file: `${file}.previous` }] : [current];
  });
}
