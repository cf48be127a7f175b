import { HttpError } from '../../kube/admission/http-error.ts';
import { COPIED_CONFIG_MAPS, LIMIT_RANGES, NAMESPACES } from '../../kube/api/core-resources.ts';
import type { KubeObject } from '../../kube/api/object.ts';
import { waitForSync } from '../../kube/cache/informer.ts';
import type { Manager } from '../../kube/manager/manager.ts';
import { rateLimitedSingleflight } from '../../kube/util/rate-limited-singleflight.ts';
import { withTimeout } from '../../kube/util/waits.ts';
import { defined, sameJson } from '../../util/json.ts';
import { ENVOY_CONFIG_MAP } from '../envoy/files.ts';
import type { Keys } from '../keys.ts';
import { type NamespaceSettings, namespaceSettings } from '../namespace-settings.ts';
import { isDnsLabel } from '../podspec/names.ts';
import { limitRangeOf } from '../podspec/rules/limit-ranges.ts';
import type { NamespaceSettingsOf } from './inject-handler.ts';

/** Requests for existing namespaces: their number is bounded, and each may have been labelled a moment ago. */
const KNOWN = { ratePerSecond: 50, burst: 100 };
/** Requests for unknown names, which any client can invent. They do not use up the budget above. */
const UNKNOWN = { ratePerSecond: 10, burst: 20 };
/** How long LimitRanges are waited for, which an older role does not let it read. */
const LIMITS_MS = 30_000;

/**
 * Returns the settings of namespaces from one informer, and the version of the API server; starts nothing. `own` is the
 * namespace of the operator, whose configuration of Envoy other namespaces get.
 */
export function setUpNamespaces(
  manager: Manager,
  own: string,
  keys: Keys,
  serverMinor: () => number | undefined,
) {
  const { client, clock } = manager;
  const informer = manager.informer(NAMESPACES, { transform: namespaceSummary(keys) });
  const ask = (name: string, signal: AbortSignal) => client.get(NAMESPACES, { name }, { signal });
  const known = rateLimitedSingleflight(clock, KNOWN, ask);
  const unknown = rateLimitedSingleflight(clock, UNKNOWN, ask);
  const fieldSelector = `metadata.name=${ENVOY_CONFIG_MAP}`;
  const envoy = manager.informer(COPIED_CONFIG_MAPS, { fieldSelector });
  const limits = manager.informer(LIMIT_RANGES);
  const filesIn = (namespace: string) => envoy.lister.get(`${namespace}/${ENVOY_CONFIG_MAP}`)?.data;
  const settingsIn = ({ metadata }: KubeObject): NamespaceSettings => ({
    ...namespaceSettings(metadata, keys, serverMinor()),
    envoyFiles: filesIn(metadata.name) ?? filesIn(own),
    limitRanges: limits.lister.list(metadata.name).map(limitRangeOf),
  });
  const nothing = namespaceSettings({}, keys);
  /** From the cache if it has the namespace; with `fresh` from the API server, which may be ahead of the cache. */
  const settings: NamespaceSettingsOf = async (namespace, { fresh, signal }) => {
    const cached = informer.lister.get(namespace);
    if (cached && !fresh) return settingsIn(cached);
    if (!isDnsLabel(namespace))
      throw new HttpError(400, 'request.namespace: expected the name of a namespace');
    return settingsIn(await (cached ? known : unknown)(namespace, signal));
  };
  return {
    settings,
    // Without LimitRanges, which an older role does not let it read, it injects as before.
    hasSynced: () => informer.hasSynced() && envoy.hasSynced(),
    /** From the cache only; empty if it does not have the namespace. */
    cached(namespace: string): NamespaceSettings {
      const found = informer.lister.get(namespace);
      return found ? settingsIn(found) : nothing;
    },
    /** Calls the listener with the name of each namespace whose settings change. */
    onChanged(listener: (namespace: string) => void): void {
      const said = ({ metadata: { labels = {}, annotations = {} } }: KubeObject) => ({ labels, annotations });
      const report = ({ metadata }: KubeObject) => listener(metadata.name);
      informer.addEventHandler({
        onAdd: report,
        // Other changes of a namespace do not matter, and are not in the cache.
        onUpdate(before, namespace) {
          if (!sameJson(said(before), said(namespace))) report(namespace);
        },
        onDelete: report,
      });
    },
    /** What the policies cannot see of namespaces: of those that have any, the LimitRanges. */
    unseen() {
      const grouped = Map.groupBy(limits.lister.list(), ({ metadata }) => metadata.namespace ?? '');
      const limitRanges = new Map(Array.from(grouped, ([name, all]) => [name, all.map(limitRangeOf)]));
      // The cache keeps equal data once.
      const envoyFiles = [...new Set(envoy.lister.list().flatMap(({ data }) => (data ? [data] : [])))];
      return { envoyFiles, limitRanges };
    },
    /** Resolves when `unseen` is whole, or without LimitRanges after half a minute. Ends when the signal aborts. */
    async untilUnseen(signal: AbortSignal): Promise<void> {
      await waitForSync([envoy], signal);
      const known = (bounded: AbortSignal) => waitForSync([limits], bounded);
      await withTimeout(clock, LIMITS_MS, signal, known).catch(() => undefined);
    },
    /** Calls the listener after a change of `unseen`. */
    onUnseen(listener: () => void): void {
      for (const each of [envoy, limits])
        each.addEventHandler({ onAdd: listener, onUpdate: listener, onDelete: listener });
    },
  };
}

/** Returns a transform that keeps of a Namespace its identity, its labels and the annotation that selects templates. */
function namespaceSummary({ templates: key }: Keys): (namespace: KubeObject) => KubeObject {
  return ({ metadata: { name, uid, resourceVersion, labels, annotations } }) => {
    const selected = annotations?.[key];
    const kept = selected === undefined ? undefined : { [key]: selected };
    return { metadata: defined({ name, uid, resourceVersion, labels, annotations: kept }) };
  };
}
