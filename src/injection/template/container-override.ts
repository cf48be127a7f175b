import { isArray, isObject, type JsonObject, type JsonValue, own } from '../../util/json.ts';
import {
  AUTO_IMAGE,
  nameOf,
  type PlacedContainer,
  type Pod,
  PROBES,
  placedContainers,
} from '../podspec/pod.ts';
import type { Template } from './template.ts';

/** The pod's own containers with the image `auto`: overrides, if they have the name of a template's container. */
export function overridesIn(pod: Pod): readonly PlacedContainer[] {
  return placedContainers(pod).filter(({ container }) => own(container, 'image') === AUTO_IMAGE);
}

/** What is wrong with containers that override a container which none of the templates has. */
export function strayOverrides(pod: Pod, templates: readonly Template[]): readonly string[] {
  const overrides = overridesIn(pod);
  if (overrides.length === 0) return [];
  const names = templates.flatMap((each) => [...each.containers, ...each.initContainers]).map(nameOf);
  const known = new Set(names);
  const hint = names.length === 0 ? 'set an image' : `name it ${names.join(' or ')}, or set an image`;
  return overrides
    .map(({ container }) => nameOf(container))
    .filter((name) => !known.has(name))
    .map(
      (name) =>
        `container ${name} has the image ${AUTO_IMAGE}, but the template has no such container: ${hint}`,
    );
}

/** Defaults that the API server sets before a webhook sees a pod (k8s.io/kubernetes/pkg/apis/core/v1/defaults.go). */
const CONTAINER_DEFAULTS: JsonObject = {
  imagePullPolicy: 'Always',
  terminationMessagePath: '/dev/termination-log',
  terminationMessagePolicy: 'File',
};
const PROBE_DEFAULTS: JsonObject = {
  failureThreshold: 3,
  periodSeconds: 10,
  successThreshold: 1,
  timeoutSeconds: 1,
};

/** Fields inside a container that the API server drops if they are false or 0. */
const ZEROABLE: readonly string[] = [
  'hostPort',
  'initialDelaySeconds',
  'readOnly',
  'stdin',
  'stdinOnce',
  'tty',
];

/**
 * The fields that an override sets, without its image, defaults of the API server, and values that the API server drops.
 * Thus the webhook and the command line get the same result. A default that the user wrote looks the same as one of the
 * API server, so the template's value wins.
 */
export function saidBy({ container }: PlacedContainer): JsonObject {
  const { image: _, ...rest } = withRequests(withoutZeros(container));
  const said = Object.entries(without(rest, CONTAINER_DEFAULTS)).map(
    ([field, value]): [string, JsonValue] => [
      field,
      PROBES.includes(field) && isObject(value) ? without(value, PROBE_DEFAULTS) : value,
    ],
  );
  return Object.fromEntries(said);
}

/** A limit without a request is also the request, as the API server defaults it. */
function withRequests(container: JsonObject): JsonObject {
  const resources = own(container, 'resources');
  const [limits, requests] = [own(resources, 'limits'), own(resources, 'requests')];
  if (!isObject(resources) || !isObject(limits)) return container;
  const all = { ...limits, ...(isObject(requests) && requests) };
  return { ...container, resources: { ...resources, requests: all } };
}

/** Removes null, empty text and empty lists (Go's omitempty). Empty text stays in lists. */
function withoutZeros(object: JsonObject): JsonObject {
  const value = (item: JsonValue): JsonValue => {
    if (isArray(item)) return item.map(value);
    return isObject(item) ? withoutZeros(item) : item;
  };
  const isZero = (field: string, item: JsonValue) =>
    item === null ||
    item === '' ||
    (isArray(item) && item.length === 0) ||
    (!item && ZEROABLE.includes(field));
  return Object.fromEntries(
    Object.entries(object)
      .filter(([field, item]) => !isZero(field, item))
      .map(([field, item]) => [field, value(item)]),
  );
}

function without(object: JsonObject, defaults: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(object).filter(([field, value]) => own(defaults, field) !== value),
  );
}
