import { controllerIn } from '../../injection/podspec/pod.ts';
import { WORKLOAD_KINDS, type WorkloadKind } from '../../injection/podspec/workload-kinds.ts';
import { LIVE_PODS, PODS } from '../../kube/api/core-resources.ts';
import type { KubeObject } from '../../kube/api/object.ts';
import { apiVersionOf, decodeObject, type Resource } from '../../kube/api/resource.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { UsageError } from '../../kube/util/errors.ts';
import {
  isObject,
  type JsonObject,
  type JsonValue,
  own,
  ownObjects,
  ownString,
  ownTexts,
} from '../../util/json.ts';
import { suggest } from '../../util/suggest.ts';
import type { Scope } from '../options/tool-options.ts';

/** An object in the cluster that a user names, such as `deploy/web`. */
export interface Target {
  readonly workload: WorkloadKind;
  readonly resource: Resource<KubeObject>;
  readonly name: string;
}

/** Whether an object may have the name: one segment of a path, so neither empty, `.` nor `..`, and without `%`. */
export function isName(name: string): boolean {
  return !/^\.{0,2}$|%/.test(name);
}

/** Whether kubectl knows the kind by this text: one of its names, with or without its group, as in `kubectl get -o name`. */
function isNameOf(
  { group, kind, plural, shortNames = [] }: Pick<WorkloadKind, 'group' | 'kind' | 'plural' | 'shortNames'>,
  text: string,
): boolean {
  const names = plural === undefined ? [] : [kind.toLowerCase(), plural, ...shortNames];
  return names.some((name) =>
    [name, ...(group === '' ? [] : [`${name}.${group}`, `${name}.v1.${group}`])].includes(text.toLowerCase()),
  );
}

/** What only `check` takes, and which its own modules parse. */
export const OTHER_KINDS = ['httproute', 'grpcroute', 'network'];

/**
 * Parses a target such as `deploy/web`. Accepts each name that kubectl has for a kind, also with its group, as in
 * `deployment.apps/web`. `others`: further kinds to name.
 */
export function parseTarget(target: string, others: readonly string[] = []): Target {
  const [alias = '', name = '', ...rest] = target.split('/');
  const workload = WORKLOAD_KINDS.find((each) => isNameOf(each, alias));
  if (alias === '' || !isName(name) || rest.length > 0) {
    const isFile = /\.(ya?ml|json)$/.test(target);
    throw new UsageError(
      `${JSON.stringify(target)} is not a target: ${isFile ? `use inject -f ${target}` : 'use a kind and a name such as deploy/web or pod/web-0'}`,
    );
  }
  if (!workload?.plural) {
    const kinds = WORKLOAD_KINDS.flatMap(({ kind, plural }) => (plural ? [kind.toLowerCase()] : []));
    const meant = suggest(alias, [...kinds, ...OTHER_KINDS]);
    const advice =
      meant === undefined
        ? `use one of ${[...kinds, ...others].join(', ')}`
        : `did you mean ${meant}/${name}?`;
    throw new UsageError(`unknown kind ${JSON.stringify(alias)}: ${advice}`);
  }
  return { workload, resource: resourceOf(workload, workload.plural), name };
}

function resourceOf({ group, kind }: WorkloadKind, plural: string): Resource<KubeObject> {
  return { group, version: 'v1', kind, plural, namespaced: true, decode: decodeObject };
}

/** The workloads and live pods of a namespace, or of all, that no controller owns, as in files. */
export async function* workloadsIn(client: KubeClient, scope: Scope): AsyncGenerator<JsonObject, void> {
  for (const workload of WORKLOAD_KINDS) {
    if (workload.plural === undefined) continue;
    const resource = resourceOf(workload, workload.plural);
    const selection = workload.kind === 'Pod' ? { ...scope, fieldSelector: LIVE_PODS } : scope;
    for (const item of (await client.list(resource, selection)).items) {
      const object = asObject(resource, item);
      if (!controllerIn(object)) yield object;
    }
  }
}

/** Reads the object. */
export async function getTarget(
  client: KubeClient,
  namespace: string,
  { resource, name }: Target,
): Promise<JsonObject> {
  return asObject(resource, await client.get(resource, { namespace, name }));
}

/** The object with its apiVersion and kind, as in a file. The API server may leave them out. */
function asObject(resource: Resource<KubeObject>, object: unknown): JsonObject {
  return { ...asJson(object), apiVersion: apiVersionOf(resource), kind: resource.kind };
}

/** The pods of a workload that have not ended, and those without a controller that match its selector. A CronJob has none. */
export async function podsOf(
  client: KubeClient,
  namespace: string,
  object: JsonObject,
): Promise<readonly JsonObject[]> {
  const selector = own(own(object, 'spec'), 'selector');
  const kind = ownString(object, 'kind');
  const isPlain = WORKLOAD_KINDS.some((each) => each.kind === kind && each.hasPlainSelector);
  const labelSelector = isPlain ? pairs(selector) : formatSelector(selector);
  if (labelSelector === '') return [];
  const { items } = await client.list(PODS, { namespace, labelSelector });
  return items
    .map(asJson)
    .filter((pod) => !isOfAnother(pod, object))
    .filter((pod) => !['Succeeded', 'Failed'].includes(ownString(own(pod, 'status'), 'phase') ?? ''));
}

/** Whether the pod is that of another controller: their labels may be the same. */
function isOfAnother(pod: JsonObject, object: JsonObject): boolean {
  const controller = controllerIn(pod);
  if (controller === undefined) return false;
  const metadata = own(object, 'metadata');
  if (ownString(object, 'kind') !== 'Deployment') return own(controller, 'uid') !== own(metadata, 'uid');
  const hash = ownString(own(own(pod, 'metadata'), 'labels'), 'pod-template-hash');
  return ownString(controller, 'name') !== `${ownString(metadata, 'name')}-${hash}`;
}

function formatSelector(selector: JsonValue | undefined): string {
  const parts = ownObjects(selector, 'matchExpressions').map(formatExpression);
  return [pairs(own(selector, 'matchLabels')), ...parts].filter((part) => part !== '').join(',');
}

function formatExpression(expression: JsonObject): string {
  const key = ownString(expression, 'key') ?? '';
  const list = `(${ownTexts(expression, 'values').join(',')})`;
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

/** Narrows a value that was parsed from JSON. */
function asJson(value: unknown): JsonObject {
  if (!isObject(value)) throw new TypeError('expected an object of the API, got another JSON value');
  return value;
}

/** The name of an object of this kind that a user names as a target, such as `network/web`; undefined for another target. */
export function nameInTarget(
  target: string,
  resource: Resource<KubeObject>,
  ...shortNames: readonly string[]
): string | undefined {
  const [alias = '', name = '', ...rest] = target.split('/');
  const isKind = isNameOf({ ...resource, shortNames }, alias);
  return isKind && isName(name) && rest.length === 0 ? name : undefined;
}
