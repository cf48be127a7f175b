import { isObject, type JsonObject, type JsonValue, own, ownString } from '../inject/json.ts';
import type { KubeClient } from '../kube/client.ts';
import { PODS } from '../kube/core-resources.ts';
import type { KubeObject } from '../kube/object.ts';
import { narrowObject, type Resource } from '../kube/resource.ts';
import { UsageError } from './terminal.ts';

/** The kinds that can be named, by all the names that kubectl has for them. */
const KINDS: readonly (readonly [string, string, string, readonly string[]])[] = [
  ['', 'v1', 'Pod', ['pod', 'pods', 'po']],
  ['', 'v1', 'ReplicationController', ['replicationcontroller', 'replicationcontrollers', 'rc']],
  ['apps', 'v1', 'Deployment', ['deployment', 'deployments', 'deploy']],
  ['apps', 'v1', 'ReplicaSet', ['replicaset', 'replicasets', 'rs']],
  ['apps', 'v1', 'StatefulSet', ['statefulset', 'statefulsets', 'sts']],
  ['apps', 'v1', 'DaemonSet', ['daemonset', 'daemonsets', 'ds']],
  ['batch', 'v1', 'Job', ['job', 'jobs']],
  ['batch', 'v1', 'CronJob', ['cronjob', 'cronjobs', 'cj']],
];

/** `deploy/web` as the object of the API that it names. */
export function parseTarget(target: string): {
  readonly resource: Resource<KubeObject>;
  readonly name: string;
} {
  const [alias = '', name = '', ...rest] = target.split('/');
  const found = KINDS.find(([, , , aliases]) => aliases.includes(alias.toLowerCase()));
  if (!found || name === '' || rest.length > 0) {
    throw new UsageError(
      `cannot check ${JSON.stringify(target)}: write a kind and a name such as deploy/web or pod/web-0`,
    );
  }
  const [group, version, kind, [, plural = '']] = found;
  return { resource: { group, version, kind, plural, namespaced: true, narrow: narrowObject }, name };
}

/** The object as a file would hold it: lists and single objects differ in whether they say their kind. */
export async function getTarget(client: KubeClient, namespace: string, target: string): Promise<JsonObject> {
  const { resource, name } = parseTarget(target);
  const object = asJson(await client.get(resource, { namespace, name }));
  const apiVersion = resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
  return { ...object, apiVersion, kind: resource.kind };
}

/** The pods that a workload runs, by its selector; those that have ended left out. A CronJob has no selector. */
export async function podsOf(
  client: KubeClient,
  namespace: string,
  object: JsonObject,
): Promise<readonly JsonObject[]> {
  const selector = own(own(object, 'spec'), 'selector');
  const labelSelector =
    ownString(object, 'kind') === 'ReplicationController' ? pairs(selector) : formatSelector(selector);
  if (labelSelector === '') return [];
  const { items } = await client.list(PODS, { namespace, labelSelector });
  return items
    .map(asJson)
    .filter((pod) => !['Succeeded', 'Failed'].includes(ownString(own(pod, 'status'), 'phase') ?? ''));
}

function formatSelector(selector: JsonValue | undefined): string {
  const expressions = own(selector, 'matchExpressions');
  const parts = (Array.isArray(expressions) ? expressions : []).map((expression) =>
    formatExpression(expression),
  );
  return [pairs(own(selector, 'matchLabels')), ...parts].filter((part) => part !== '').join(',');
}

function formatExpression(expression: JsonValue): string {
  const key = ownString(expression, 'key') ?? '';
  const values = own(expression, 'values');
  const list = `(${(Array.isArray(values) ? values : []).join(',')})`;
  switch (ownString(expression, 'operator')) {
    case 'In':
      return `${key} in ${list}`;
    case 'NotIn':
      return `${key} notin ${list}`;
    case 'DoesNotExist':
      return `!${key}`;
    default:
      return key;
  }
}

function pairs(labels: JsonValue | undefined): string {
  return Object.entries(isObject(labels) ? labels : {})
    .map(([key, value]) => `${key}=${String(value)}`)
    .join(',');
}

/** What came over the wire was JSON. */
function asJson(value: unknown): JsonObject {
  if (!isObject(value)) throw new TypeError('expected an object of the API');
  return value;
}
