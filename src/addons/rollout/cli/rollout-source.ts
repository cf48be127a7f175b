import type { ClusterOptions } from '../../../cli/options/tool-options.ts';
import { liveConfigMap } from '../../../cli/template-source.ts';
import { type ConfigurationAge, cachedAge, isOlder } from '../../../injection/envoy/configuration-age.ts';
import { ENVOY_CONFIG_MAP } from '../../../injection/envoy/files.ts';
import { keysFor } from '../../../injection/keys.ts';
import { type NamespaceSettings, namespaceSettings } from '../../../injection/namespace-settings.ts';
import { isForbidden } from '../../../kube/api/api-error.ts';
import {
  CONFIG_MAPS,
  COPIED_CONFIG_MAPS,
  type ConfigMap,
  LIVE_PODS,
  NAMESPACES,
} from '../../../kube/api/core-resources.ts';
import type { KubeObject } from '../../../kube/api/object.ts';
import type { Resource } from '../../../kube/api/resource.ts';
import { Informer } from '../../../kube/cache/informer.ts';
import { waitForSync } from '../../../kube/cache/wait-for-sync.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import { readServerVersion } from '../../../kube/client/server-version.ts';
import { systemClock } from '../../../kube/workqueue/clock.ts';
import { CONTROLLER_REVISIONS, type ControllerRevision, STATE_LABEL } from '../controller-revision.ts';
import { namespaceOf } from '../core/workloads.ts';
import { type Observed, observedPods } from '../observe.ts';
import { readFleet } from './read-fleet.ts';
import { listRevisions } from './read-revisions.ts';

/** What the status of a rollout is computed from. */
export interface RolloutSource {
  /** The ConfigMap of the template. */
  configMap(): Promise<ConfigMap>;
  revisions(): Promise<readonly ControllerRevision[]>;
  /** The pods with a sidecar that have not finished. */
  pods(): Promise<readonly { readonly observed: Observed; readonly namespace: NamespaceSettings }[]>;
  /** Envoy's configurations, by namespace; empty if the user may not list ConfigMaps. */
  configs(): Promise<Configurations>;
}

type Configurations = ReadonlyMap<string, ConfigurationAge>;

/** Whether the sidecar of a pod has read an older configuration than its namespace has. */
export function isOlderIn(configs: Configurations, { key, config }: Observed): boolean {
  const age = configs.get(namespaceOf(key));
  return age !== undefined && isOlder(config, age);
}

const CONFIGS = { fieldSelector: `metadata.name=${ENVOY_CONFIG_MAP}` };

function agesOf(configMaps: readonly ConfigMap[]): Configurations {
  return new Map(
    configMaps.flatMap((each) => {
      const age = cachedAge(each);
      return age === undefined ? [] : [[each.metadata.namespace ?? '', age] as const];
    }),
  );
}

/** Undefined if the user may not list them. */
async function listConfigs(client: KubeClient): Promise<Configurations | undefined> {
  try {
    return agesOf((await client.list(COPIED_CONFIG_MAPS, CONFIGS, COPIED_CONFIG_MAPS.decode)).items);
  } catch (err) {
    if (isForbidden(err)) return undefined;
    throw err;
  }
}

/** Reads the cluster at each call. */
export function readingSource(client: KubeClient, options: ClusterOptions): RolloutSource {
  return {
    configMap: () => liveConfigMap(client, options),
    revisions: () => listRevisions(client, options),
    pods: () => readFleet(client, keysFor(options.annotation)),
    configs: async () => (await listConfigs(client)) ?? new Map(),
  };
}

/** Follows the cluster by watches until the signal aborts. Resolves once everything has been read. */
export async function watchingSource(
  client: KubeClient,
  options: ClusterOptions,
  /** Called after each change, and with the error if the user may not watch. */
  onChange: (refused?: unknown) => void,
  signal: AbortSignal,
): Promise<RolloutSource> {
  const { operatorNamespace: namespace, configmap: name, annotation } = options;
  const keys = keysFor(annotation);
  const follow = <T extends KubeObject>(resource: Resource<T>, selected: object = {}): Informer<T> => {
    const onError = (err: unknown) => {
      if (isForbidden(err)) onChange(err);
    };
    const informer = new Informer({ client, clock: systemClock, resource, ...selected, onError });
    const changed = () => onChange();
    informer.addEventHandler({ onAdd: changed, onUpdate: changed, onDelete: changed });
    void informer.run(signal);
    return informer;
  };
  const configMaps = follow(CONFIG_MAPS, { namespace, fieldSelector: `metadata.name=${name}` });
  const revisions = follow(CONTROLLER_REVISIONS, { namespace, labelSelector: STATE_LABEL });
  const namespaces = follow(NAMESPACES);
  const pods = follow(observedPods(keys), { fieldSelector: LIVE_PODS });
  const configs = (await listConfigs(client)) && follow(COPIED_CONFIG_MAPS, CONFIGS);
  const { minor } = await readServerVersion(client, signal);
  await waitForSync([configMaps, revisions, namespaces, pods, ...(configs ? [configs] : [])], signal);
  return {
    configMap: async () =>
      configMaps.lister.get(`${namespace}/${name}`) ?? (await liveConfigMap(client, options)),
    revisions: async () => revisions.lister.list(),
    pods: async () =>
      pods.lister.list().flatMap(({ metadata, observed }) => {
        const { metadata: labels = {} } = namespaces.lister.get(metadata.namespace ?? '') ?? {};
        return observed ? { observed, namespace: namespaceSettings(labels, keys, minor) } : [];
      }),
    configs: async () => agesOf(configs?.lister.list() ?? []),
  };
}
