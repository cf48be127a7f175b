import type { Keys } from '../../injection/keys.ts';
import { ROLLOUT_ANNOTATION } from '../../injection/keys.ts';
import type { NamespaceSettings } from '../../injection/namespace-settings.ts';
import { parseStatus, type Status } from '../../injection/status.ts';
import type { TemplateSet } from '../../injection/template/template-set.ts';
import { controllerOf, type KubeObject, keyOf } from '../../kube/api/object.ts';
import type { Lister } from '../../kube/cache/store.ts';
import { type ForecastPod, forecast, outlookLine } from './plan/forecast.ts';

export interface ForecastWarningOptions {
  /** Live pods, with what the cache of the fleet keeps of them. */
  readonly pods: Pick<Lister<KubeObject>, 'list'>;
  readonly namespaceSettings: (namespace: string) => NamespaceSettings;
  readonly keys: Keys;
}

/**
 * Returns what a template set would do to running pods, in one line for its author; undefined without a strategy for
 * running pods. It counts from metadata alone. The counts of the last set are kept for a moment.
 */
export function forecastWarning(options: ForecastWarningOptions): (set: TemplateSet) => string | undefined {
  let last: { readonly key: string; readonly at: number; readonly line: string } | undefined;
  return (set) => {
    const { rollout } = set;
    if (rollout === undefined || rollout.mode === 'new-pods') return undefined;
    const key = `${set.hash} ${rollout.mode} ${rollout.singleReplica}`;
    if (last?.key === key && Date.now() < last.at + KEPT_MS) return last.line;
    const total = forecast(forecastPods(options), set, rollout);
    const line = `rollout, estimated from metadata: ${outlookLine(total)}`;
    last = { key, at: Date.now(), line };
    return line;
  };
}

const KEPT_MS = 2_000;

function forecastPods({ pods, namespaceSettings, keys }: ForecastWarningOptions): readonly ForecastPod[] {
  // Many pods have the same status.
  const parsed = new Map<string, Status | undefined>();
  return pods.list().flatMap(({ metadata }) => {
    const { uid = '', namespace = '', labels, annotations, deletionTimestamp } = metadata;
    const text = annotations?.[keys.status];
    if (text === undefined || deletionTimestamp !== undefined) return [];
    if (!parsed.has(text)) parsed.set(text, parseStatus(text));
    const status = parsed.get(text);
    if (status === undefined) return [];
    const owner = controllerOf({ metadata });
    return {
      key: keyOf({ metadata }),
      uid,
      status,
      owner,
      namespace: namespaceSettings(namespace),
      selects: annotations?.[keys.templates],
      isOptedOut: [labels?.[ROLLOUT_ANNOTATION], annotations?.[ROLLOUT_ANNOTATION]].includes('false'),
    };
  });
}
