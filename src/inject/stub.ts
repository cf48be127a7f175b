import { AUTO_IMAGE } from './container-rules.ts';
import { isObject, type JsonObject, type JsonValue, own } from './json.ts';
import { containers, initContainers, nameOf, type Pod } from './pod.ts';

export type ContainerList = 'containers' | 'initContainers';

/** The pod's own container of a template's container's name, with the image `auto`. */
export interface Stub {
  readonly list: ContainerList;
  readonly container: JsonObject;
}

export function findStub(pod: Pod, name: string): Stub | undefined {
  const lists = { containers: containers(pod), initContainers: initContainers(pod) };
  for (const list of ['containers', 'initContainers'] as const) {
    const container = lists[list].find((item) => nameOf(item) === name && own(item, 'image') === AUTO_IMAGE);
    if (container) return { list, container };
  }
  return undefined;
}

/** What the API server fills in before a webhook sees a pod (k8s.io/kubernetes/pkg/apis/core/v1/defaults.go). */
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
const PROBES: readonly string[] = ['livenessProbe', 'readinessProbe', 'startupProbe'];

/**
 * What a stub says about the sidecar: all but its image, and what was only filled in by the API server.
 * That a user wrote just such a value himself cannot be told; the template's is taken then.
 */
export function saidBy({ container }: Stub): JsonObject {
  const { image: _, ...rest } = container;
  const said = Object.entries(without(rest, CONTAINER_DEFAULTS)).map(
    ([field, value]): [string, JsonValue] => [
      field,
      PROBES.includes(field) && isObject(value) ? without(value, PROBE_DEFAULTS) : value,
    ],
  );
  return Object.fromEntries(said);
}

function without(object: JsonObject, defaults: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(object).filter(([field, value]) => own(defaults, field) !== value),
  );
}
