import {
  type ConfigurationAge,
  configurationAge,
  configurationRead,
  ENVOY_CONFIG_MAP,
  isOlder,
} from '../../injection/envoy/configuration-age.ts';
import type { Keys } from '../../injection/keys.ts';
import type { Pod } from '../../injection/podspec/pod.ts';
import { isForbidden, isNotFound } from '../../kube/api/api-error.ts';
import { CONFIG_MAPS } from '../../kube/api/core-resources.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { isObject, own, ownObjects } from '../../util/json.ts';

/** Knows whether sidecars run an older configuration of Envoy than their namespace has. Reads each ConfigMap once. */
export class EnvoyConfigurations {
  readonly #client: KubeClient;
  readonly #keys: Keys;
  readonly #ages = new Map<string, Promise<ConfigurationAge | 'missing' | undefined>>();

  constructor(client: KubeClient, keys: Keys) {
    this.#client = client;
    this.#keys = keys;
  }

  /** False if the user may not read the ConfigMap. */
  async isOlderIn(pod: Pod, namespace: string): Promise<boolean> {
    const known = await this.#of(namespace);
    return known !== undefined && known !== 'missing' && isOlder(configurationRead(pod, this.#keys), known);
  }

  /** Whether the pod mounts the ConfigMap, and cannot start because it does not exist. */
  async isMissingFor(pod: Pod, namespace: string): Promise<boolean> {
    const volumes = ownObjects(own(pod, 'spec'), 'volumes').map((volume) => own(volume, 'configMap'));
    const isNeeded = volumes.some(
      (source) => own(source, 'name') === ENVOY_CONFIG_MAP && own(source, 'optional') !== true,
    );
    return isNeeded && (await this.#of(namespace)) === 'missing';
  }

  #of(namespace: string): Promise<ConfigurationAge | 'missing' | undefined> {
    const age = this.#ages.get(namespace) ?? this.#read(namespace);
    this.#ages.set(namespace, age);
    return age;
  }

  async #read(namespace: string): Promise<ConfigurationAge | 'missing' | undefined> {
    try {
      const found: unknown = await this.#client.get(CONFIG_MAPS, { namespace, name: ENVOY_CONFIG_MAP });
      return isObject(found) ? configurationAge(found) : undefined;
    } catch (err) {
      if (isNotFound(err)) return 'missing';
      if (isForbidden(err)) return undefined;
      throw err;
    }
  }
}
