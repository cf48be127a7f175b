import { hashOf, isObject, type JsonObject, own, ownObjects, ownString } from '../../util/json.ts';
import type { Keys } from '../keys.ts';
import { annotation, containers, initContainers, nameOf, type Pod, volumes } from '../podspec/pod.ts';
import { addedContainers, parseStatus } from '../status.ts';
import { ENVOY_CONFIG_MAP } from './files.ts';

/** The state of Envoy's configuration in a namespace. */
export interface ConfigurationAge {
  /** sha256 of the data, in hex. */
  readonly hash: string;
  /** When the data was last written, in milliseconds since 1970; undefined if that is unknown. */
  readonly changedAt: number | undefined;
}

/** The state of a ConfigMap, given with its managedFields: they have the time of each manager's last write. */
export function configurationAge(configMap: JsonObject): ConfigurationAge {
  const times = ownObjects(own(configMap, 'metadata'), 'managedFields')
    .filter((entry) => own(own(entry, 'fieldsV1'), 'f:data') !== undefined)
    .map((entry) => Date.parse(ownString(entry, 'time') ?? ''))
    .filter((time) => !Number.isNaN(time));
  return {
    hash: hashOf(own(configMap, 'data') ?? {}),
    changedAt: times.length > 0 ? Math.max(...times) : undefined,
  };
}

const ages = new WeakMap<object, ConfigurationAge>();

/** The same for an object of a cache, whose state is remembered; undefined if there is none. */
export function cachedAge(configMap: unknown): ConfigurationAge | undefined {
  if (!isObject(configMap)) return undefined;
  const age = ages.get(configMap) ?? configurationAge(configMap);
  ages.set(configMap, age);
  return age;
}

/** The configuration that a sidecar has read. */
export interface ConfigurationRead {
  /** The hash that a rollout noted when it restarted the sidecar. */
  readonly noted?: string;
  /** When its container started, in milliseconds since 1970. */
  readonly at?: number;
}

/** Which configuration the sidecar of a pod has read: Envoy reads its bootstrap only when it starts. */
export function configurationRead(pod: Pod, keys: Keys): ConfigurationRead {
  const status = parseStatus(annotation(pod, keys.status));
  if (status === undefined) return {};
  const noted = status.configs?.[ENVOY_CONFIG_MAP];
  const names = addedContainers(status);
  const readers = [...containers(pod), ...initContainers(pod)]
    .filter((container) => readsConfiguration(container, pod))
    .map(nameOf);
  const times = ['containerStatuses', 'initContainerStatuses']
    .flatMap((list) => ownObjects(own(pod, 'status'), list))
    .filter((state) => readers.includes(nameOf(state)) && names.includes(nameOf(state)))
    .map((state) => Date.parse(ownString(own(own(state, 'state'), 'running'), 'startedAt') ?? ''))
    .filter((time) => !Number.isNaN(time));
  return { ...(noted !== undefined && { noted }), ...(times.length > 0 && { at: Math.min(...times) }) };
}

/** Whether a container of the pod mounts the configuration. */
export function readsConfiguration(container: JsonObject, pod: Pod): boolean {
  const mounted = new Set(volumes(pod).filter(hasConfiguration).map(nameOf));
  return ownObjects(container, 'volumeMounts').some((mount) => mounted.has(nameOf(mount)));
}

function hasConfiguration(volume: JsonObject): boolean {
  const sources = ownObjects(own(volume, 'projected'), 'sources');
  return [volume, ...sources].some(
    (source) => ownString(own(source, 'configMap'), 'name') === ENVOY_CONFIG_MAP,
  );
}

/** Whether a sidecar has read an older configuration than its namespace has; false if that is unknown. */
export function isOlder({ noted, at }: ConfigurationRead, { hash, changedAt }: ConfigurationAge): boolean {
  if (noted !== undefined) return noted !== hash;
  return at !== undefined && changedAt !== undefined && at < changedAt;
}
