import {
  type ConfigurationAge,
  configurationAge,
  configurationRead,
  isOlder,
} from '../injection/envoy/configuration-age.ts';
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
export class NamespaceObjects {
  readonly #client: KubeClient;
  readonly #operatorNamespace: string;
  readonly #configurations = new Map<string, Promise<ConfigMap | 'missing' | undefined>>();
  readonly #known = new Map<string, Promise<Objects>>();

  constructor(client: KubeClient, operatorNamespace: string) {
    this.#client = client;
    this.#operatorNamespace = operatorNamespace;
  }

  /** What the decision about a pod reads. */
  in(namespace: string): Promise<Objects> {
    return once(this.#known, namespace, () => this.#read(namespace));
  }

  /** Whether a sidecar runs an older configuration of Envoy than its namespace has. */
  async isOlderIn(pod: Pod, namespace: string, keys: Keys): Promise<boolean> {
    const known: unknown = await this.#configuration(namespace);
    const age: ConfigurationAge | undefined = isObject(known) ? configurationAge(known) : undefined;
    return age !== undefined && isOlder(configurationRead(pod, keys), age);
  }

  /** Whether the pod mounts the ConfigMap of Envoy, and cannot start because it does not exist. */
  async isMissingFor(pod: Pod, namespace: string): Promise<boolean> {
    const volumes = ownObjects(own(pod, 'spec'), 'volumes').map((volume) => own(volume, 'configMap'));
    const isNeeded = volumes.some(
      (source) => own(source, 'name') === ENVOY_CONFIG_MAP && own(source, 'optional') !== true,
    );
    return isNeeded && (await this.#configuration(namespace)) === 'missing';
  }

  #configuration(namespace: string): Promise<ConfigMap | 'missing' | undefined> {
    return once(this.#configurations, namespace, () =>
      ifReadable(
        ifFound(this.#client.get(CONFIG_MAPS, { namespace, name: ENVOY_CONFIG_MAP })).then(
          (found) => found ?? 'missing',
        ),
      ),
    );
  }

  async #read(namespace: string): Promise<Objects> {
    const filesIn = async (of: string) => {
      const found = await this.#configuration(of);
      return found === 'missing' ? undefined : found?.data;
    };
    const [files, ranges] = await Promise.all([
      filesIn(namespace),
      ifReadable(this.#client.list(LIMIT_RANGES, { namespace })),
    ]);
    return {
      envoyFiles: files ?? (await filesIn(this.#operatorNamespace)),
      limitRanges: ranges?.items.map(limitRangeOf),
    };
  }
}

/** The value under the key, which `read` gives at the first call. */
function once<T>(known: Map<string, Promise<T>>, key: string, read: () => Promise<T>): Promise<T> {
  const value = known.get(key) ?? read();
  known.set(key, value);
  return value;
}
