import { configurationAge, configurationRead, isOlder } from '../injection/envoy/configuration-age.ts';
import { ENVOY_CONFIG_MAP } from '../injection/envoy/files.ts';
import type { Keys } from '../injection/keys.ts';
import type { NamespaceSettings } from '../injection/namespace-settings.ts';
import type { Pod } from '../injection/podspec/pod.ts';
import { limitRangeOf } from '../injection/podspec/rules/limit-ranges.ts';
import { ifFound, ifReadable } from '../kube/api/api-error.ts';
import { CONFIG_MAPS, type ConfigMap, LIMIT_RANGES } from '../kube/api/core-resources.ts';
import type { KubeClient } from '../kube/client/client.ts';
import { isObject, own, ownObjects } from '../util/json.ts';

type Objects = Pick<NamespaceSettings, 'envoyFiles' | 'limitRanges'>;

/** Reads what decides about the pods of a namespace, once for each. What the user may not read is unknown. */
export type NamespaceObjects = ReturnType<typeof namespaceObjects>;

export function namespaceObjects(client: KubeClient, operatorNamespace: string) {
  const configuration = once(async (namespace: string): Promise<ConfigMap | 'missing' | undefined> => {
    const reading = ifFound(client.get(CONFIG_MAPS, { namespace, name: ENVOY_CONFIG_MAP }));
    return await ifReadable(reading.then((found) => found ?? 'missing'));
  });
  const filesIn = async (namespace: string) => {
    const found = await configuration(namespace);
    return found === 'missing' ? undefined : found?.data;
  };
  return {
    /** What the decision about a pod reads. */
    in: once(async (namespace: string): Promise<Objects> => {
      const [files, ranges] = await Promise.all([
        filesIn(namespace),
        ifReadable(client.list(LIMIT_RANGES, { namespace })),
      ]);
      return {
        envoyFiles: files ?? (await filesIn(operatorNamespace)),
        limitRanges: ranges?.items.map(limitRangeOf),
      };
    }),

    /** Whether a sidecar runs an older configuration of Envoy than its namespace has. */
    async isOlderIn(pod: Pod, namespace: string, keys: Keys): Promise<boolean> {
      const known: unknown = await configuration(namespace);
      const age = isObject(known) ? configurationAge(known) : undefined;
      return age !== undefined && isOlder(configurationRead(pod, keys), age);
    },

    /** Whether the pod mounts the ConfigMap of Envoy, and cannot start because it does not exist. */
    async isMissingFor(pod: Pod, namespace: string): Promise<boolean> {
      const volumes = ownObjects(own(pod, 'spec'), 'volumes').map((volume) => own(volume, 'configMap'));
      const isNeeded = volumes.some(
        (source) => own(source, 'name') === ENVOY_CONFIG_MAP && own(source, 'optional') !== true,
      );
      return isNeeded && (await configuration(namespace)) === 'missing';
    },
  };
}

/** Reads each namespace at the first call only. */
function once<T>(read: (namespace: string) => Promise<T>): (namespace: string) => Promise<T> {
  const known = new Map<string, Promise<T>>();
  return (namespace) => {
    const value = known.get(namespace) ?? read(namespace);
    known.set(namespace, value);
    return value;
  };
}
