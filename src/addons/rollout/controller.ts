import { type ConfigurationAge, isOlder } from '../../injection/envoy/configuration-age.ts';
import type { NamespaceSettings } from '../../injection/namespace-settings.ts';
import type { TemplateSet } from '../../injection/template/template-set.ts';
import type { Reconcile } from '../../kube/controller/controller.ts';
import type { Logger } from '../../kube/util/log.ts';
import type { Actuator, Outcome } from './actuator.ts';
import type { RolloutEvents } from './events.ts';
import type { PodMemory } from './memory.ts';
import type { RolloutMetrics } from './metrics.ts';
import type { Observed, ObservedPod } from './observe.ts';
import { type Action, namespaceOf, type RolloutPod } from './plan/pod.ts';
import { type Step, step } from './plan/step.ts';
import type { RevisionHistory } from './revision-history.ts';
import type { RevisionWriter } from './revision-writer.ts';
import { formatStatus } from './rollout-status.ts';

export interface RolloutControllerOptions {
  readonly history: Pick<RevisionHistory, 'adopted' | 'current'>;
  readonly writer: Pick<RevisionWriter, 'decide' | 'published' | 'publish'>;
  readonly pods: { list(): readonly ObservedPod[] };
  readonly memory: PodMemory;
  /** Envoy's configuration in a namespace. */
  readonly configIn: (namespace: string) => ConfigurationAge | undefined;
  readonly namespaceSettings: (namespace: string) => NamespaceSettings;
  readonly actuator: Pick<Actuator, 'act'>;
  readonly events: RolloutEvents;
  readonly metrics: RolloutMetrics;
  readonly log: Logger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Events come in bursts: a step looks at all pods. */
export const STEP_MS = 200;
/** If nothing announces that an action can be repeated. */
const AGAIN_MS = 1_000;
const WAITS: ReadonlySet<Outcome> = new Set(['later', 'denied']);
/** How often to publish the status within a phase. */
const PUBLISH_MS = 5_000;
/** Actions at the same time. */
const PARALLEL = 16;
/** After this time the next step says what is urgent: drained pods go back before others are drained. */
const BATCH_MS = 1_000;

/**
 * Returns the reconcile of the whole rollout: looks at all pods, decides, and acts. Its one key stands for all pods,
 * because budgets and the breaker do. Needs exactly one worker.
 */
export function rolloutReconcile(options: RolloutControllerOptions): Reconcile {
  const { history, writer, memory, actuator, events, metrics, log, now } = options;

  async function act(action: Action, signal: AbortSignal): Promise<Outcome> {
    const how = action.do === 'evict' ? 'replace' : 'in-place';
    try {
      const outcome = await actuator.act(action, signal);
      log.debug({ pod: action.pod.key, action: action.do, outcome }, 'rollout');
      if (outcome === 'left') {
        metrics.changed(how, 'left');
        const { key, uid } = action.pod;
        log.warn({ pod: key, action: action.do, why: memory.why(uid) }, 'pod left unchanged');
      } else if (outcome === 'done' && action.do !== 'drain' && action.do !== 'undrain')
        metrics.changed(how, 'done');
      return outcome;
    } catch (err) {
      if (!signal.aborted) metrics.changed(how, 'failed');
      throw err;
    }
  }

  let publishedAt = Number.NEGATIVE_INFINITY;
  let published: Step['phase'] | undefined;
  /** Returns when to call it again if there is more to publish. It tells users: what fails here stops no rollout. */
  async function publish(next: Step, signal: AbortSignal): Promise<number | undefined> {
    const text = formatStatus(next);
    if (writer.published() === text) return undefined;
    const waitMs = publishedAt + PUBLISH_MS - now();
    if (waitMs > 0 && next.phase === published) return waitMs;
    [published, publishedAt] = [next.phase, now()];
    try {
      await writer.publish(text, signal);
      return undefined;
    } catch (err) {
      if (!signal.aborted) log.warn({ err }, 'cannot publish the status of the rollout, retrying');
      return PUBLISH_MS;
    }
  }

  return async (_, signal) => {
    const [set, current] = [history.adopted(), history.current()];
    if (!set) return {};
    const pods = podsOf(options, current?.target.state === 'halted' ? current.promoted.set : set);
    const next = current && set.rollout && step(pods, current, set.rollout, now());
    metrics.stepped(next);
    if (next?.decision) await writer.decide(next.decision, signal);
    if (next) events.seen(next, current, now());
    // What follows a halt, such as the way back, is known to the next step only.
    const publishMs = next && next.decision?.do !== 'halt' ? await publish(next, signal) : undefined;
    const outcomes: Outcome[] = [];
    // Without a strategy, what an earlier one has drained goes back.
    const drained = pods.filter(({ isDraining, isGoing }) => isDraining && !isGoing);
    const allowed = drained.filter(({ verdict }) => !verdict);
    const left = [...(next?.actions ?? allowed.map((pod): Action => ({ do: 'undrain', pod, to: { set } })))];
    const end = now() + BATCH_MS;
    const workers = Array.from({ length: Math.min(PARALLEL, left.length) }, async () => {
      for (let action = left.shift(); action; action = now() < end ? left.shift() : undefined) {
        const outcome = await act(action, signal);
        // The restart of a sidecar, for which the end of a drain may wait, is an event.
        if (action.do !== 'undrain' || outcome !== 'later') outcomes.push(outcome);
      }
    });
    const failed = (await Promise.allSettled(workers)).find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
    const waits = [
      ...(next ? [next.wakeInMs] : drained.map(({ verdict }) => verdict?.until && verdict.until - now())),
      publishMs,
      next?.decision || left.length > 0 || outcomes.some((outcome) => !WAITS.has(outcome))
        ? STEP_MS
        : undefined,
      outcomes.some((outcome) => WAITS.has(outcome)) ? AGAIN_MS : undefined,
    ].filter((ms) => ms !== undefined);
    return waits.length === 0 ? {} : { requeueAfterMs: Math.max(1, Math.min(...waits)) };
  };
}

function podsOf(
  { pods, memory, configIn, namespaceSettings, now }: RolloutControllerOptions,
  { hash }: TemplateSet,
): readonly RolloutPod[] {
  const see = (observed: Observed): RolloutPod => {
    const namespace = namespaceOf(observed.key);
    const config = configIn(namespace);
    return {
      ...observed,
      namespace: namespaceSettings(namespace),
      isConfigStale: config !== undefined && isOlder(observed.config, config),
      ...memory.recall(observed, hash, now()),
    };
  };
  const observed = pods.list().flatMap((pod) => memory.newest(pod) ?? []);
  const seen = observed.map(see);
  memory.recalledAll(now());
  return [...seen, ...memory.gone(now()).map(see)];
}
