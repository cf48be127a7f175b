import { createHash } from 'node:crypto';
import { canonicalJson, isObject, type JsonObject, own, ownObjects, ownString } from '../json/json.ts';
import type { ConfigMap } from '../kube/api/core-resources.ts';
import type { Lister } from '../kube/cache/store.ts';
import type { Observed } from './observe.ts';
import { ENVOY_CONFIG_MAP } from './pod-change.ts';

/** Envoy's configuration in a namespace. */
interface Config {
  /** Of its data, sha256 in hex. */
  readonly hash: string;
  /** When its data was written last, in milliseconds since 1970; undefined if that is unknown. */
  readonly changedAt: number | undefined;
}

/** The ConfigMaps with Envoy's configuration, by namespace. Sidecars read them only at their start. */
export class Configs {
  readonly #configMaps: Pick<Lister<ConfigMap>, 'get'>;
  readonly #known = new WeakMap<ConfigMap, Config>();

  constructor(configMaps: Pick<Lister<ConfigMap>, 'get'>) {
    this.#configMaps = configMaps;
  }

  /** Undefined if the namespace has none. */
  hash(namespace: string | undefined): string | undefined {
    return this.#of(namespace)?.hash;
  }

  /** Whether a sidecar started with another configuration: by what was noted at its restart, else by the time. */
  isStale({ status, configReadAt }: Observed, namespace: string | undefined): boolean {
    const config = this.#of(namespace);
    if (!config || configReadAt === undefined) return false;
    const noted = status?.configs?.[ENVOY_CONFIG_MAP];
    if (noted !== undefined) return noted !== config.hash;
    return config.changedAt !== undefined && configReadAt < config.changedAt;
  }

  #of(namespace: string | undefined): Config | undefined {
    const found = this.#configMaps.get(`${namespace}/${ENVOY_CONFIG_MAP}`);
    if (!found) return undefined;
    const known = this.#known.get(found);
    if (known) return known;
    const text = canonicalJson(found.data ?? {});
    const hash = createHash('sha256').update(text).digest('hex');
    const config = { hash, changedAt: changedAt(found as ConfigMap & JsonObject) };
    this.#known.set(found, config);
    return config;
  }
}

/** By the managed fields, which have the time of each manager's last write. */
function changedAt(configMap: ConfigMap & JsonObject): number | undefined {
  const times = ownObjects(own(configMap, 'metadata'), 'managedFields')
    .filter((entry) => isObject(own(own(entry, 'fieldsV1'), 'f:data')))
    .map((entry) => Date.parse(ownString(entry, 'time') ?? ''))
    .filter((time) => !Number.isNaN(time));
  return times.length === 0 ? undefined : Math.max(...times);
}
